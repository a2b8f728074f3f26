import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { metrics } from '../../../../shared/contract/names.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createCachedBudget } from '../../../../shared/partner-api/cached-rows.ts';
import { createBudgetStore } from '../../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import {
  application,
  clientOf,
  createOpenRateLimiter,
  faultOf,
  fetchWith,
  holdsOf,
  sleepless,
  soon,
} from '../../../helpers/partner-api/fixtures.ts';
import {
  cutOff,
  hang,
  reset,
  type ScriptedService,
  startScriptedService,
} from '../../../helpers/partner-api/scripted-service.ts';
import { createVirtualClock, startMs } from '../../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';

let service: ScriptedService;
beforeEach(async () => {
  service = await startScriptedService();
  sleepless.slept.length = 0;
});
afterEach(() => service.close());

function clientFor(options: Parameters<typeof clientOf>[1] = {}) {
  const client = clientOf(service.url, options);
  onTestFinished(() => client.close());
  return client;
}

const refresh = { grant_type: 'refresh_token', refresh_token: new Secret('refresh-0123') } as const;

it.each([
  ['a 500', { status: 500 }],
  ['a page of a proxy', { status: 502, body: '<html></html>' }],
  ['a 200 that is no JSON', { body: '<html></html>' }],
  ['an empty 200', {}],
  ['a reset', reset],
  ['a cut-off answer', cutOff],
])('a GET is sent again after %s', async (_what, fault) => {
  const client = clientFor();
  service.next(fault);

  expect((await fetchWith(client, '7')).status).toBe('active');
  expect(service.seen).toHaveLength(2);
});

it('a GET is sent three times at most, and once when it failed before', async () => {
  const client = clientFor({ random: () => 0.999 });
  service.state.always = { status: 500 };

  expect(await faultOf(fetchWith(client, '7'))).toMatchObject({
    code: 'transient',
    status: 500,
  });
  expect(service.seen).toHaveLength(3);
  expect(sleepless.slept).toEqual([250, 500]);
  // The queue repeats it, with growing delays.
  await faultOf(fetchWith(client, '7'));
  expect(service.seen).toHaveLength(4);
});

it('a GET waits for the very time that the service named', async () => {
  const client = clientFor();
  service.next({ status: 503, headers: { 'retry-after': '2' } });

  await fetchWith(client, '7');

  expect(sleepless.slept).toEqual([2_001]);
});

it('a GET is not sent again when the attempt would come at the deadline', async () => {
  const clock = { ...sleepless, now: () => startMs };
  const client = clientFor({ clock });
  service.state.always = { status: 503, headers: { 'retry-after': '2' } };

  const atDeadline = await faultOf(fetchWith(client, '7', { deadlineMs: startMs + 2_001 }));
  expect(atDeadline).toMatchObject({ code: 'transient', status: 503 });
  expect(service.seen).toHaveLength(1);

  await faultOf(fetchWith(client, '8', { deadlineMs: startMs + 2_002 }));
  expect(service.seen).toHaveLength(4);
});

it.each([
  [429, 'rate-limited'],
  [403, 'forbidden'],
  [401, 'token-rejected'],
  [400, 'invalid-request'],
  [404, 'wrong-path'],
])('a GET is not sent again after %i', async (status, code) => {
  const client = clientFor();
  service.next({ status });

  expect((await faultOf(fetchWith(client, '7'))).code).toBe(code);
  expect(service.seen).toHaveLength(1);
});

it('a GET finds an advert gone after 404 once a request was answered well', async () => {
  const client = clientFor();
  // The token endpoint may have another path than the API.
  service.next({ body: JSON.stringify({ access_token: 'a', refresh_token: 'r' }) }, { status: 404 });
  await client.requestTokens(application, refresh, soon());

  expect((await faultOf(fetchWith(client, '7'))).code).toBe('wrong-path');
  await fetchWith(client, '8');
  service.next({ status: 404 });
  expect((await faultOf(fetchWith(client, '7'))).code).toBe('not-found');
});

it('a GET has a time limit for each attempt', async () => {
  const client = clientFor({ attemptTimeoutMs: 100 });
  service.next(hang, hang);

  expect((await fetchWith(client, '7')).status).toBe('active');
  expect(service.seen).toHaveLength(3);
});

it('a GET is not sent when the deadline has passed', async () => {
  const client = clientFor();

  const fault = await faultOf(fetchWith(client, '7', { deadlineMs: Date.now() }));

  expect(fault.message).toContain('not sent');
  expect(service.seen).toHaveLength(0);
});

it('a GET goes out again at once when its idle socket had died', async () => {
  const rateLimiter = createOpenRateLimiter();
  const client = clientFor({ rateLimiter });
  await fetchWith(client, '1');
  service.next(reset);

  expect((await fetchWith(client, '2')).status).toBe('active');
  expect(rateLimiter.entered).toHaveLength(3);
  expect(sleepless.slept).toEqual([]);
});

it('a GET waits for another slot when it comes too late for its own', async () => {
  const { enter, entered } = createOpenRateLimiter();
  const slots = [Date.now() - 1];
  const client = clientFor({ rateLimiter: { enter: async (resource) => slots.shift() ?? enter(resource) } });

  await fetchWith(client, '7');

  expect(entered).toHaveLength(1);
});

it.each([
  ['a 500', { status: 500 }],
  ['a reset', reset],
  ['a cut-off answer', cutOff],
])('a POST is not sent again after %s', async (_what, answer) => {
  const client = clientFor();
  service.next(answer, answer);

  expect((await faultOf(client.requestTokens(application, refresh, soon()))).code).toBe('transient');
  expect(service.seen).toHaveLength(1);
});

it('a POST to the token endpoint may be answered until its deadline', async () => {
  const client = clientFor({ attemptTimeoutMs: 20 });
  const body = JSON.stringify({ access_token: 'a', refresh_token: 'r', expires_in: 60 });
  service.next((_request, response) => void setTimeout(() => response.end(body), 100));

  const { answer } = await client.requestTokens(application, refresh, soon());

  expect(answer).toMatchObject({ refresh_token: 'r' });
});

it('a POST to the token endpoint repeats only without a connection', async () => {
  await service.close();
  const rateLimiter = createOpenRateLimiter();
  const client = clientFor({ rateLimiter });

  const fault = await faultOf(client.requestTokens(application, refresh, soon()));

  expect(fault.message).toContain('ECONNREFUSED');
  expect(rateLimiter.entered).toHaveLength(3);
});

const setUp = () => {
  const clock = createVirtualClock();
  const observer = createRecordingObserver();
  const store = createBudgetStore(createInMemoryStore());
  const holds = holdsOf({ budget: createCachedBudget(store, clock), clock, observer });
  const client = clientFor({ holds, clock, observer, maxPauseSeconds: 600 });
  const ask = () => fetchWith(client, '7', { deadlineMs: clock.now() + 5_000 });
  return { clock, observer, store, ask };
};

it.each([
  [429, '86400'],
  [429, new Date(startMs + 86_400_000).toUTCString()],
])('a long wait is cut and for a person (%i, Retry-After: %s)', async (status, value) => {
  const { clock, observer, store, ask } = setUp();
  service.next({ status, headers: { 'retry-after': value, date: new Date(startMs).toUTCString() } });

  const fault = await faultOf(ask());

  expect(fault).toMatchObject({ retryAfterMs: 600_000, askedToWaitMs: 86_400_000 });
  expect(await store.read()).toMatchObject({ holds: [{ until: clock.now() + 600_000 }] });
  expect(observer.counted(metrics.needsAttention)).toBe(1);
  expect(observer.lines).toMatchObject([{ level: 'warn', fields: { askedSeconds: 86_400, seconds: 600 } }]);
  expect((await faultOf(ask())).code).toBe('paused');
  clock.advance(600_001);
  expect(await ask()).toMatchObject({ status: 'active' });
});

it('an answer is noted before the caller gets it, a repeated one never', async () => {
  const notes: (() => void)[] = [];
  const holds = holdsOf();
  vi.spyOn(holds, 'answered').mockImplementation(() => new Promise<void>((done) => notes.push(done)));
  const client = clientFor({ holds });
  service.next({ status: 500 });
  let outcome: string | undefined;

  const call = fetchWith(client, '7').then(({ status }) => {
    outcome = status;
  });

  await vi.waitUntil(() => notes.length === 1);
  await nextTurn();
  expect([service.seen.length, outcome]).toEqual([2, undefined]);
  notes[0]?.();
  await call;
  expect(outcome).toBe('active');
});

it('a caller that waits for a connection is let go at its deadline', async () => {
  const client = clientFor({ concurrency: 1 });
  service.next((_request, response) => {
    setTimeout(() => response.end('{"data":{"id":1,"status":"new"}}'), 80);
  });
  const slow = fetchWith(client, '1');

  const fault = await faultOf(fetchWith(client, '2', { deadlineMs: Date.now() + 20 }));

  expect(fault.message).toContain('not sent');
  expect((await slow).status).toBe('new');
  expect((await fetchWith(client, '3')).status).toBe('active');
});

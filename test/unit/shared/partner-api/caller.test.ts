import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createCachedBudget } from '../../../../shared/partner-api/cached-rows.ts';
import { type CallRequest, createCaller } from '../../../../shared/partner-api/call.ts';
import type { Sent } from '../../../../shared/partner-api/error-answers.ts';
import type { HoldKeeper } from '../../../../shared/partner-api/hold-keeper.ts';
import { type Answer, NoAnswerError } from '../../../../shared/partner-api/transport.ts';
import { type BudgetState, freshBudget } from '../../../../shared/state/budget.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

const answer = (status = 200, headers: Answer['head']['headers'] = {}): Answer => ({
  ...{ status, head: { headers }, body: '' },
});
type Outcome = Answer | Error | Promise<Answer>;
const none = (code: NoAnswerError['code'], more = {}) => new NoAnswerError(code, more);

/** A caller whose gates, transport and clock write down in one list what happens. */
function setUp(
  answers: readonly Outcome[] = [],
  { concurrency = 1, slots = [] as number[], takesMs = 0 } = {},
) {
  const clock = createManualClock();
  const log: string[] = [];
  const left = [...answers];
  const rateLimiter = {
    async enter(resource: string, deadlineMs: number) {
      log.push(`slot for ${resource}`);
      // That of the request, which has a minute at most.
      expect(deadlineMs).toBeLessThanOrEqual(clock.now() + 60_000);
      clock.advance(takesMs);
      return slots.shift() ?? Number.POSITIVE_INFINITY;
    },
  };
  const evidence: unknown[] = [];
  const holds: HoldKeeper = {
    ready: async ({ isNext, isForTokens }) =>
      void log.push(`ready${isForTokens ? ' for tokens' : ''}${isNext ? ' now' : ''}`),
    async answered(one) {
      evidence.push(one);
      log.push(`answered ${one.fault?.code ?? 'well'}`);
    },
  };
  let stored: BudgetState = freshBudget;
  const store = {
    read: async () => stored,
    async change(rule: (state: BudgetState) => BudgetState) {
      log.push('proven');
      if (stored.connected === 99) throw new Error('throttled');
      stored = rule(stored);
      return stored;
    },
  };
  const budget = createCachedBudget(store, clock);
  const transport = {
    async send(_wire: unknown, timeoutMs: number) {
      log.push(`sent for ${timeoutMs}`);
      const next = left.shift() ?? answer();
      if (next instanceof Error) throw next;
      return next;
    },
    close: () => undefined,
  };
  const notes: unknown[] = [];
  const note = (_evidence: unknown, status: number | undefined) => {
    notes.push(status);
    log.push(`noted ${status}`);
  };
  const gates = { rateLimiter, holds, budget };
  const options = { baseUrl: 'https://x', maxPauseMs: 60_000, concurrency, answers: { note }, clock };
  const call = createCaller(gates, transport, { ...options, random: () => 1 });
  const ask = (more: Partial<CallRequest> = {}, read: (sent: Sent) => unknown = () => 'read') =>
    call(
      {
        ...{ what: 'GET /x', resource: '7', partnerAccount: 'main', deadlineMs: clock.now() + 60_000 },
        wire: (token) => ({ method: 'GET', path: token.reveal(), headers: [] }),
        async token(resource, isNext) {
          log.push(`token for ${resource}${isNext ? ' now' : ''}`);
          return new Secret('t');
        },
        ...more,
      },
      read,
    ).catch((error: unknown) => error);
  const fail = () => {
    stored = { ...stored, connected: 99 };
  };
  return { clock, log, evidence, ask, fail, sleeps: clock.slept };
}
const forTokens = { token: undefined as never, resource: 'token', what: 'POST /t' };
const got = ['ready', 'token for 7', 'slot for 7', 'token for 7 now', 'ready now', 'sent for 10000'];
const again = got.slice(2);
const posted = ['ready for tokens', 'slot for token', 'ready for tokens now', 'sent for 60000'];
const [reset, stale] = [none('reset'), none('reset', { wasStale: true })];
const bug = new Error('a bug');

it.each<[string, Partial<CallRequest>, Outcome[], string[], unknown]>([
  ['proves the base URL and counts', {}, [], [...got, 'proven', 'noted 200', 'answered well'], 'read'],
  ['of tokens proves nothing', forTokens, [], [...posted, 'noted 200', 'answered well'], 'read'],
  [
    'that fails counts when it is not sent again',
    {},
    [answer(429)],
    [...got, 'noted 429', 'answered rate-limited'],
    'rate-limited',
  ],
  [
    'that is sent again counts for the last answer',
    {},
    [answer(500)],
    [...got, 'noted 500', ...got, 'proven', 'noted 200', 'answered well'],
    'read',
  ],
  [
    'that is undecided does not count',
    { isUndecided: ({ code }) => code === 'token-rejected' },
    [answer(401)],
    [...got, 'noted 401'],
    'token-rejected',
  ],
  [
    'that is decided counts',
    { isUndecided: ({ code }) => code === 'token-rejected' },
    [answer(403)],
    [...got, 'noted 403', 'answered forbidden'],
    'forbidden',
  ],
  [
    'whose socket had died is sent again at once',
    {},
    [stale],
    [...got, ...again, 'proven', 'noted 200', 'answered well'],
    'read',
  ],
  [
    'of tokens whose socket died twice failed',
    forTokens,
    [stale, stale],
    [...posted, ...posted.slice(1), 'noted undefined', 'answered transient'],
    'transient',
  ],
  [
    'of tokens that was reset failed',
    forTokens,
    [reset],
    [...posted, 'noted undefined', 'answered transient'],
    'transient',
  ],
  [
    'of tokens without a connection is sent again',
    forTokens,
    [none('not-connected')],
    [...posted, 'noted undefined', ...posted.slice(0, 3), 'sent for 59750', 'noted 200', 'answered well'],
    'read',
  ],
  ['that ends with another error is no answer', {}, [bug], got, bug],
])('a request %s', async (_rule, more, answers, expected, outcome) => {
  const { log, ask } = setUp(answers);

  const result = await ask(more);

  expect(result instanceof BridgeFault ? result.code : result).toBe(outcome);
  expect(log).toEqual(expected);
});

it.each<[string, Answer, string, string]>([
  ['the lowest success', answer(200), 'read', 'read'],
  ['the highest success', answer(299), 'read', 'read'],
  ['a redirect', answer(300), 'wrong-path', 'wrong-path'],
  ['a 404 before any good answer', answer(404), 'wrong-path', 'wrong-path'],
  ['a 401', answer(401), 'token-rejected', 'client-rejected'],
])('an answer is judged by its status and endpoint: %s', async (_what, outcome, ofApi, ofTokens) => {
  const codeOf = (result: unknown) => (result instanceof BridgeFault ? result.code : result);

  expect(codeOf(await setUp([outcome]).ask())).toBe(ofApi);
  expect(codeOf(await setUp([outcome]).ask(forTokens))).toBe(ofTokens);
});

it('the base URL is proven once, and then a 404 is of an advert', async () => {
  const { ask, log } = setUp([answer(), answer(404), answer()]);
  await ask();

  expect(await ask({ resource: '8' })).toMatchObject({ code: 'not-found' });
  await ask();
  expect(log.filter((line) => line === 'proven')).toHaveLength(1);
});

it('an answer is good although the proof of the base URL cannot be stored', async () => {
  const { ask, fail } = setUp();
  fail();

  expect(await ask()).toBe('read');
});

it('an answer is evidence of its account, with the time of its request', async () => {
  const { ask, evidence, clock } = setUp([answer(429, { 'retry-after': '61' })], { takesMs: 500 });
  const sentAt = clock.now() + 500;

  const fault = await ask();

  expect(fault).toMatchObject({ retryAfterMs: 60_000, askedToWaitMs: 61_000 });
  expect(evidence).toEqual([{ account: 'main', resource: '7', fault, sentAt }]);
});

it('an answer is read with its times and the secrets of its request', async () => {
  const { ask, clock } = setUp();
  let sent: Sent | undefined;

  await ask({ secrets: [new Secret('s')] }, (one) => {
    sent = one;
  });

  const at = clock.now();
  expect(sent).toMatchObject({ what: 'GET /x', sentAt: at, receivedAt: at, answer: { status: 200 } });
  expect(sent?.secrets.map((secret) => secret.reveal())).toEqual(['t', 's']);
});

it.each<[string, unknown, boolean]>([
  ['a fault in an answer counts', new BridgeFault('contract-broken', 'shape'), true],
  ['a bug in reading it is thrown', bug, false],
])('%s', async (_rule, error, isCounted) => {
  const { ask, log } = setUp();

  const result = await ask({}, () => {
    throw error;
  });

  expect(result).toBe(error);
  expect(log.at(-1)).toBe(isCounted ? 'answered contract-broken' : 'sent for 10000');
});

it.each<[string, number, number, readonly string[]]>([
  ['has 10 s', 60_000, 0, got],
  ['has less near the deadline', 5_000, 1_000, [...got.slice(0, -1), 'sent for 4000']],
  ['is not sent at the deadline', 5_000, 5_000, got.slice(0, -1)],
  ['is not sent when its slot came too late', 5_000, 6_000, got.slice(0, -1)],
  ['begins nothing at the deadline', 0, 0, []],
])('an attempt %s', async (_rule, forMs, takesMs, expected) => {
  const { ask, log, clock } = setUp([], { takesMs });

  const result = await ask({ deadlineMs: clock.now() + forMs });

  const isSent = expected.length === got.length;
  expect(log.slice(0, got.length)).toEqual(expected);
  if (isSent) expect(result).toBe('read');
  else
    expect(result).toMatchObject({
      code: 'transient',
      message: 'GET /x: not sent, because there was no time left',
    });
});

it.each([
  ['in time', 0, 1],
  ['a millisecond too late', -1, 2],
])('a request that is ready %s takes so many slots: %i, %i', async (_when, byMs, slots) => {
  const now = createManualClock().now();
  const { ask, log } = setUp([], { slots: [now + byMs] });

  expect(await ask()).toBe('read');
  expect(log.filter((line) => line === 'slot for 7')).toHaveLength(slots);
  expect(log.filter((line) => line === 'token for 7 now')).toHaveLength(slots);
});

it.each<[string, Outcome[], number, number[], number]>([
  ['three times at most', [answer(500), answer(500), answer(500)], 60_000, [250, 500], 3],
  ['after what the service asks for', [answer(503, { 'retry-after': '2' })], 60_000, [2_001], 2],
  ['only before the deadline', [answer(503, { 'retry-after': '2' })], 2_001, [], 1],
  ['up to a moment before it', [answer(503, { 'retry-after': '2' })], 2_002, [2_001], 2],
  ['without an answer, too', [reset], 60_000, [250], 2],
])('a request is sent again %s', async (_rule, answers, forMs, sleeps, sends) => {
  const { ask, log, clock } = setUp(answers);

  await ask({ deadlineMs: clock.now() + forMs });

  expect(clock.slept).toEqual(sleeps);
  expect(log.filter((line) => line.startsWith('sent'))).toHaveLength(sends);
});

it('after a fault, a resource is asked for once until an answer is good', async () => {
  const bad = answer(500);
  const { ask, log } = setUp([bad, bad, bad, bad, answer(), answer(), bad, bad, bad]);
  const sends = async (resource: string) => {
    const before = log.filter((line) => line.startsWith('sent')).length;
    await ask({ resource });
    return log.filter((line) => line.startsWith('sent')).length - before;
  };

  // The last is of another resource, whose own last answer was good.
  expect([await sends('7'), await sends('7'), await sends('7'), await sends('8'), await sends('7')]).toEqual([
    ...[3, 1, 1, 1, 3],
  ]);
});

it('a request for tokens waits for no connection, a renewal takes none', async () => {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const { ask, log } = setUp([promise]);
  const slow = ask();
  await nextTurn();
  await ask(forTokens);
  expect(log.slice(got.length)).toEqual([...posted, 'noted 200', 'answered well']);

  log.length = 0;
  const next = ask({ resource: '8' });
  await nextTurn();
  expect(log.filter((line) => line.includes('8'))).toEqual(['token for 8']);
  resolve(answer());
  expect(await Promise.all([slow, next])).toEqual(['read', 'read']);
});

it('no answer is a fault with its cause, and the code of the connection', async () => {
  const cause = Object.assign(new Error('x'), { code: 'ECONNRESET' });
  const fault = await setUp([none('reset', { cause })]).ask(forTokens);

  const message = 'POST /t: the connection broke before an answer (ECONNRESET)';
  expect(fault).toMatchObject({ code: 'transient', message, cause: expect.any(NoAnswerError) });
  expect(await setUp([reset]).ask(forTokens)).toMatchObject({
    message: 'POST /t: the connection broke before an answer',
  });
});

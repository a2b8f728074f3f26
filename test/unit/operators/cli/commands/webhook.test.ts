import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { shownUrl } from '../../../../../embedded/state/event-log.ts';
import { systemClock } from '../../../../../shared/domain/clock.ts';
import { startSilent, startWebhook } from '../../../../helpers/webhook-server.ts';
import { quick, startConnected } from '../local-bridge.ts';
import { start } from '../process.ts';

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

async function startSubscribed(...urls: string[]) {
  const local = await startConnected();
  for (const url of urls) await local.run(`webhook ${url} --secret-stdin`, { stdin: secret });
  const webhooks = urls.map((url) => ` --webhook ${url}`).join('');
  return {
    ...local,
    runUntilIdle: (more = '') => local.runUntilIdle(`${webhooks}${more}`),
    waiting: async () => JSON.parse((await local.run('webhook --json')).stdout).webhooks,
  };
}

const lines = (stdout: string) => stdout.split('\n').filter((line) => line !== '');

it('a webhook gets the unchanged envelope, signed by Standard Webhooks', async () => {
  const subscriber = await startWebhook();
  const { sandbox, runUntilIdle } = await startSubscribed(subscriber.url);
  sandbox.control.createAdverts(1);

  const ended = await runUntilIdle(' --stdout');

  expect(ended.exitCode).toBe(0);
  const { headers, body } = subscriber.calls[0] as (typeof subscriber.calls)[number];
  expect(body).toBe(lines(ended.stdout)[0]);
  expect(headers['webhook-id']).toBe(JSON.parse(body).detail.metadata.eventId);
  // The reference implementation, as a subscriber would use it.
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
});

it('a webhook that is down delays no other, and gets all when it is back', async () => {
  const good = await startWebhook();
  let gone = true;
  const bad = await startWebhook(() => (gone ? { status: 410 } : undefined));
  const { sandbox, run, runUntilIdle } = await startSubscribed(good.url, `${bad.url}?key=hidden`);
  const [id = ''] = sandbox.control.createAdverts(3, { status: 'new' });

  const first = await runUntilIdle(' --stdout');
  sandbox.control.setStatus(id, 'active');
  const second = await runUntilIdle();
  const [asJson, status] = [await run('status --json'), await run('status')];
  gone = false;
  const third = await runUntilIdle();

  expect([first, second, asJson, third].map(({ exitCode }) => exitCode)).toEqual([3, 3, 3, 0]);
  expect(lines(first.stdout)).toHaveLength(3);
  expect(good.accepted).toHaveLength(4);
  expect(first.stderr).toContain('3 events wait for webhook');
  expect(first.stderr).toContain('it answered 410 (gone)');
  const address = shownUrl(`${bad.url}?key=hidden`);
  const shown = { address, state: 'gone', waiting: 4 };
  expect(JSON.parse(asJson.stdout).webhooks).toContainEqual(expect.objectContaining(shown));
  expect(status.stdout).toContain(`webhook ${address}`);
  expect(asJson.stdout + status.stdout + status.stderr).not.toContain('hidden');
  expect(new Set(bad.accepted.map(({ body }) => body))).toEqual(
    new Set(good.accepted.map(({ body }) => body)),
  );
  const ofFirst = bad.accepted.filter(({ event }) => event.detail.data.advertId === id);
  expect(ofFirst.map(({ event }) => event.detail.data.status)).toEqual(['new', 'active']);
});

it('run ends with 3 when a webhook has not answered yet', async () => {
  const silent = await startSilent();
  const { sandbox, runUntilIdle } = await startSubscribed(silent.url);
  sandbox.control.createAdverts(1);
  // A minute passes at each look at what is not delivered yet.
  const { now, sleep } = systemClock;
  let ahead = 0;
  vi.spyOn(systemClock, 'now').mockImplementation(() => now() + ahead);
  vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => {
    if (ms === 50) {
      ahead += 61_000;
      silent.hangUp();
    }
    return sleep(ms, signal);
  });
  onTestFinished(() => void vi.restoreAllMocks());

  const ended = await runUntilIdle();

  expect(ended).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('1 events wait for webhook'),
  });
});

it('a killed run loses nothing that was accepted', async () => {
  let down = true;
  const subscriber = await startWebhook(() => (down ? { status: 503 } : undefined));
  const { sandbox, dir, runUntilIdle, waiting } = await startSubscribed(subscriber.url);
  sandbox.control.createAdverts(5);
  const { child, ended } = start(`run --local ${dir} ${quick} --webhook ${subscriber.url} --stdout`);
  let seen = '';
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (text) => {
      seen += text;
      if (lines(seen).length === 5) resolve();
    });
  });
  while ((await waiting())[0]?.waiting !== 5);

  child.kill('SIGKILL');
  await ended;
  down = false;
  const { exitCode } = await runUntilIdle();

  expect(exitCode).toBe(0);
  expect(new Set(subscriber.accepted.map(({ body }) => body))).toEqual(new Set(lines(seen)));
});

it('a webhook takes its URL from a file and shows its query nowhere', async () => {
  const subscriber = await startWebhook();
  const { sandbox, dir, run, waiting } = await startSubscribed();
  const file = path.join(dir, 'webhook-url.txt');
  writeFileSync(file, `${subscriber.url}?key=hidden\n`);
  sandbox.control.createAdverts(2);

  const ended = [
    await run(`webhook --webhook-file ${file} --secret-stdin --json`, { stdin: secret }),
    await run(`run --until-idle ${quick} --webhook-file ${file}`),
    await run(`snapshot --webhook-file ${file} --json`),
    await run(`run --until-idle ${quick} --webhook-file ${file}`),
  ];

  expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
  expect(subscriber.accepted).toHaveLength(4);
  const url = shownUrl(`${subscriber.url}?key=hidden`);
  expect(await waiting()).toMatchObject([{ url, waiting: 0 }]);
  expect(JSON.parse(ended[2]?.stdout ?? '')).toEqual({ sent: 2, finished: true, webhook: url });
  expect(ended.map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain('hidden');
});

it('a redirect is not followed, and reported', async () => {
  const elsewhere = await startWebhook();
  const subscriber = await startWebhook((_call, calls) =>
    calls.length === 1 ? { status: 307, headers: { location: elsewhere.url } } : { status: 410 },
  );
  const { sandbox, runUntilIdle } = await startSubscribed(subscriber.url);
  sandbox.control.createAdverts(1);

  const ended = await runUntilIdle();

  expect(ended.exitCode).toBe(3);
  expect(ended.stderr).toContain('it answered 307: redirects are not followed');
  expect(elsewhere.calls).toEqual([]);
});

it('a webhook is refused when its secret, URL or options are wrong', async () => {
  const { run } = await startConnected();
  for (const [args, stdin, exitCode, expected] of [
    ['https://example.org/hook --secret-stdin', 'hunter2', 1, 'whsec_ and 24 to 64 random bytes'],
    ...[23, 65].map((bytes) => {
      const wrong = Buffer.alloc(bytes, 7).toString('base64');
      return [
        'https://example.org/hook --secret-stdin',
        wrong,
        1,
        'whsec_ and 24 to 64 random bytes',
      ] as const;
    }),
    ['https://example.org/hook', '', 2, '--secret-file FILE, or --secret-stdin'],
    ['http://example.org/hook --secret-stdin', secret, 2, 'URL: expected an https URL'],
    ['--secret-stdin', secret, 2, 'URL is missing'],
    ['https://example.org/hook --drop-old', '', 1, 'no secret is stored for webhook'],
    ['https://example.org/hook --forget --drop-old', '', 2, 'cannot be used with option'],
    ['https://example.org/hook --keep-old', '', 2, '--keep-old goes with a new secret'],
    ['https://example.org/hook --webhook-file f', '', 2, 'give the webhook once'],
    ['--webhook-file /nowhere/hunter2', '', 1, 'the file of the webhook URL cannot be read (ENOENT)'],
  ] as const) {
    const ended = await run(`webhook ${args}`, { stdin });
    expect([args, ended]).toMatchObject([args, { exitCode, stdout: '' }]);
    expect(ended.stderr).toContain(expected);
    expect(ended.stderr).not.toContain('hunter2');
  }
});

it('webhook changes secret, signing both, and format, and forgets', async () => {
  const subscriber = await startWebhook();
  const { sandbox, run, runUntilIdle, waiting } = await startSubscribed(subscriber.url);
  const newSecret = `whsec_${Buffer.alloc(64, 9).toString('base64')}`;
  sandbox.control.createAdverts(1);

  const kept = await run(`webhook ${subscriber.url} --secret-stdin --keep-old --format cloudevents`, {
    stdin: newSecret,
  });
  expect(await waiting()).toMatchObject([{ format: 'cloudevents', secrets: 2 }]);
  await runUntilIdle();
  const ended = await run(`webhook ${subscriber.url} --drop-old --format event`);
  const url = subscriber.url;
  expect(await waiting()).toEqual([
    { url: shownUrl(url), waiting: 0, oldest: null, givenUp: 0, format: 'event', secrets: 1 },
  ]);
  const forgotten = await run(`webhook ${url} --forget`);
  // A wrong URL is not said to be forgotten.
  expect((await run(`webhook ${url} --forget`)).stderr).toMatch(/^Nothing was known of http/);

  expect([kept, ended, forgotten].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
  expect(await waiting()).toEqual([]);
  const { headers, body } = subscriber.calls[0] as (typeof subscriber.calls)[number];
  for (const each of [secret, newSecret]) {
    expect(new Webhook(each).verify(body, headers as Record<string, string>)).toMatchObject({
      specversion: '1.0',
      type: 'AdvertStatusChanged',
    });
  }
});

import type { PutEventsCommandInput } from '@aws-sdk/client-eventbridge';
import { expect, it } from 'vitest';
import { shownUrl } from '../../../../../embedded/state/event-log.ts';
import { takeRunLock } from '../../../../../embedded/state/file/run-lock.ts';
import { advertEvent } from '../../../../../shared/domain/advert-event.ts';
import { type AdvertRow, createAdvertHistories } from '../../../../../shared/state/advert-histories.ts';
import { changedAdvert, partnerAccount } from '../../../../helpers/records.ts';
import { startWebhook } from '../../../../helpers/webhook-server.ts';
import { startConnected } from '../local-bridge.ts';
import { beforeEachStack, type PlayedStack, refusing } from '../played-stack.ts';
import { cli } from '../run-cli.ts';

const bus = 'arn:aws:events:eu-central-1:111122223333:event-bus/adverts';

let stack: PlayedStack;
beforeEachStack((begun) => {
  stack = begun;
});

/** Rows of 25 adverts, one of a forgotten generation, and one that has no event yet. @returns the envelopes meant */
async function record(): Promise<string[]> {
  const histories = createAdvertHistories(stack.store);
  const { generation } = partnerAccount();
  const write = (advertId: string, more: Partial<AdvertRow>, of = generation) =>
    histories.write(
      { ...{ partnerAccount: 'main', feed: 'adverts', advertId }, generation: of },
      { ...{ sequence: 3, status: 'active', pending: false, etag: 'absent' }, ...more },
    );
  const envelopes = Array.from({ length: 25 }, (_, index) => {
    // The last two are well-formed text that SQS takes only as escapes.
    const seen = {
      bridge: 'AdvertBridge',
      status: 'aktiv ä \ufffe\uffff',
      previousStatus: null,
      sequence: 3,
    };
    const message = changedAdvert({ advertId: String(index + 1) });
    return JSON.stringify(advertEvent(message, { ...seen, observedAt: 1_763_640_000_123 + index }));
  });
  for (const [index, envelope] of envelopes.entries()) await write(String(index + 1), { envelope });
  await write('1', { envelope: '{}' }, 1);
  await write('99', { sequence: 0, tries: 1 });
  return envelopes;
}

it.each([
  ['a FIFO queue', 'fifo'],
  ['a standard queue', 'standard'],
] as const)('snapshot sends the recorded events to %s, as EventBridge would have', async (_, kind) => {
  const envelopes = await record();
  const queue = stack.createQueue(kind);

  const ended = await cli(['snapshot', '--to', queue.url, '--json']);

  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(ended.stdout)).toEqual({ sent: 25, finished: true, to: queue.url });
  const bodies = queue.bodies().map((body) => JSON.parse(body));
  const without = bodies.map(({ version, id, account, region, ...event }) => {
    expect({ version, account, region }).toEqual({
      version: '0',
      account: '111122223333',
      region: 'eu-central-1',
    });
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    return event;
  });
  expect(new Set(bodies.map(({ id }) => id)).size).toBe(25);
  // The detail byte for byte.
  const details = (events: readonly { detail: unknown }[]) =>
    events.map(({ detail }) => JSON.stringify(detail)).sort();
  expect(details(without)).toEqual(details(envelopes.map((envelope) => JSON.parse(envelope))));
});

it('snapshot sends to a bus of the subscriber, and to no other', async () => {
  const envelopes = await record();
  const to = 'arn:aws:events:eu-west-1:444455556666:event-bus/search';

  const ended = await cli(['snapshot', 'main', '--to', to]);

  expect(ended).toMatchObject({ exitCode: 0, stderr: `25 events sent to ${to}.\n` });
  const entries = stack.inputsOf<PutEventsCommandInput>('PutEvents').flatMap(({ Entries }) => Entries);
  expect(new Set(entries.map((entry) => entry?.EventBusName))).toEqual(new Set([to]));
  expect(entries.map((entry) => entry?.Detail).sort()).toEqual(
    envelopes.map((envelope) => JSON.stringify(JSON.parse(envelope).detail)).sort(),
  );
});

it('snapshot says what AWS denies', async () => {
  await record();
  const denied = Object.assign(new Error('no events:PutEvents'), { name: 'AccessDeniedException' });
  stack.answers.PutEvents = refusing(denied);

  const ended = await cli(['snapshot', 'main', '--to', bus.replace('adverts', 'search')]);

  expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no events:PutEvents') });
});

it.each([
  [['--to', bus], 2, "this is the bridge's own bus"],
  [['--to', 'OWN'], 2, "this is the bridge's own queue"],
  [['--to', 'https://sqs.example/000000000000/search'], 2, 'https://sqs.example is no address of SQS'],
  [['--to', 'https://sqs.s3.amazonaws.com/000000000000/search'], 2, 'is no address of SQS'],
  [['--to', 'http://sqs.eu-central-1.amazonaws.com/000000000000/search'], 2, 'is no address of SQS'],
  [['--to', 'search'], 2, '--to: expected the URL or ARN of an SQS queue'],
  [[], 2, '--to: expected the URL or ARN of an SQS queue'],
  [
    ['mian', '--to', 'https://sqs.eu-west-1.amazonaws.com/000000000000/search'],
    2,
    'no such partner account. Known: main',
  ],
])('snapshot of a stack refuses %s', async (args, exitCode, expected) => {
  await record();

  const ended = await cli(['snapshot', ...args.map((arg) => (arg === 'OWN' ? stack.queue.url : arg))]);

  expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(expected) });
});

const secret = Buffer.alloc(32, 7).toString('base64');

async function startWithEvents() {
  const local = await startConnected();
  const ids = local.sandbox.control.createAdverts(5, { status: 'new' });
  await local.runUntilIdle();
  return { ...local, ids };
}

it('snapshot brings a new webhook from nothing to live without a gap', async () => {
  const { sandbox, run, runUntilIdle, ids } = await startWithEvents();
  const subscriber = await startWebhook();
  await run(`webhook ${subscriber.url} --secret-stdin`, { stdin: secret });

  // First live events during changes; then the snapshot, twice, because it may be repeated; then live events again.
  sandbox.control.setStatus(ids[0] as string, 'active');
  await runUntilIdle(` --webhook ${subscriber.url}`);
  const snapshots = [
    await run(`snapshot --webhook ${subscriber.url}`),
    await run(`snapshot --webhook ${subscriber.url} --json`),
  ];
  sandbox.control.setStatus(ids[1] as string, 'outdated');
  sandbox.control.remove(ids[2] as string);
  await runUntilIdle(` --webhook ${subscriber.url}`);
  const written = await run('snapshot');

  expect(snapshots.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  const webhook = shownUrl(subscriber.url);
  expect(JSON.parse(snapshots[1]?.stdout ?? '')).toEqual({ sent: 5, finished: true, webhook });
  const latest = new Map<string, { sequence: number; body: string }>();
  for (const { body } of subscriber.accepted) {
    const { metadata, data } = JSON.parse(body).detail;
    const { sequence = 0 } = latest.get(data.advertId) ?? {};
    if (metadata.sequence > sequence) latest.set(data.advertId, { sequence: metadata.sequence, body });
  }
  const bodies = [...latest.values()].map(({ body }) => body);
  const statuses = bodies.map((body) => JSON.parse(body).detail.data);
  const own = sandbox.control.truth().filter(({ id }) => ids.includes(id));
  expect(Object.fromEntries(statuses.map(({ advertId, status }) => [advertId, status]))).toEqual(
    Object.fromEntries(own.map(({ id, status }) => [id, status])),
  );
  // On standard output the same, as they were recorded.
  expect(written).toMatchObject({ exitCode: 0, stderr: '5 events sent.\n' });
  expect(written.stdout.trimEnd().split('\n').sort()).toEqual(bodies.sort());
});

it.each([
  ['--to https://sqs.example/000000000000/search', 2, 'cannot be used with option'],
  ['--json', 2, '--json goes with --webhook'],
  ['--webhook https://example.org/hook', 1, 'no secret is stored for webhook https://example.org/ho…'],
])('snapshot of an embedded bridge refuses %s', async (args, exitCode, expected) => {
  const { run } = await startConnected();

  expect(await run(`snapshot ${args}`)).toMatchObject({
    exitCode,
    stdout: '',
    stderr: expect.stringContaining(expected),
  });
});

it('snapshot for a webhook says that a run at work delivers the events', async () => {
  const { dir, run } = await startWithEvents();
  const subscriber = await startWebhook();
  await run(`webhook ${subscriber.url} --secret-stdin`, { stdin: secret });
  const lock = takeRunLock(dir, 'run');

  const { stderr } = await run(`snapshot --webhook ${subscriber.url}`);

  lock.release();
  expect(stderr).toMatch(/^The run at work sends 5 events to .*, if it was started with this webhook\.\n$/);
});

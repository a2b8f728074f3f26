import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventBusAt } from '../../../../../operators/cli/run/event-bus.ts';
import { systemClock } from '../../../../../shared/domain/clock.ts';
import { type BusFault, startBuses } from '../../../../helpers/aws/fake-buses.ts';
import { anEnvelope } from '../../../../helpers/aws/fixtures.ts';
import { createManualClock } from '../../../../helpers/manual-clock.ts';
import { until } from '../../../../helpers/until.ts';
import { startSilent } from '../../../../helpers/webhook-server.ts';
import { quick, startConnected } from '../local-bridge.ts';
import { newFolder } from '../run-cli.ts';

const classic = 'arn:aws:events:eu-west-1:111122223333:event-bus/adverts';
const custom = `arn:aws:events:eu-west-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;

/** The credentials come from elsewhere than from variables. */
function useNoKey(): void {
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, undefined);
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/nowhere');
}

async function startPublishing(options: string) {
  const buses = await startBuses();
  vi.stubEnv('AWS_ENDPOINT_URL', buses.config.endpoint);
  const local = await startConnected();
  const runUntilIdle = (more = '') => local.runUntilIdle(` ${options}${more}`);
  return { ...local, buses, runUntilIdle };
}

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIA');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_REGION', 'us-east-1');
});

describe.each([classic, custom])('an event for %s', (arn) => {
  it.each<[BusFault, string]>([
    ['denied', 'Allow events:PutEvents on this bus (AccessDeniedException)'],
    ['missing', 'there is no such bus. Check its ARN (ResourceNotFoundException)'],
    ['expired', 'the AWS credentials have expired. Renew them'],
    ['throttled', 'AWS asks for fewer events (ThrottlingException)'],
  ])('an event waits, with what to do, when the bus is %s', async (fault, says) => {
    const buses = await startBuses();
    onTestFinished(buses.stop);
    vi.stubEnv('AWS_ENDPOINT_URL', buses.config.endpoint);
    const { deliver } = eventBusAt(arn);
    buses.fail(fault, fault, fault);
    const failure = await deliver(anEnvelope('7', 1));
    expect(failure).toMatchObject({ reason: expect.stringContaining(says), blames: 'subscriber' });
    // A fault that no attempt repeats has been told once.
    while (await deliver(anEnvelope('7', 1)));
    expect(buses.accepted).toHaveLength(1);
  });

  it('events arrive after one look when AWS does not let this user look', async () => {
    const buses = await startBuses();
    onTestFinished(buses.stop);
    vi.stubEnv('AWS_ENDPOINT_URL', buses.config.endpoint);
    const { deliver, look } = eventBusAt(arn);
    buses.fail('unseen');
    expect(await look()).toBeUndefined();
    for (const sequence of [1, 2]) expect(await deliver(anEnvelope('7', sequence))).toBeUndefined();
    expect(buses.accepted).toHaveLength(2);
    expect(buses.looks()).toBe(1);
  });

  it.each([
    ['http://eventsv2.eu-west-9.invalid', 'Check the region in the ARN, which may have no bus of this kind'],
    ['http://127.0.0.1:1', 'nothing answers there. Check the network'],
  ])('an event waits, with what to check, when nobody answers at %s', async (endpoint, says) => {
    vi.stubEnv('AWS_ENDPOINT_URL', endpoint);
    const failure = await eventBusAt(arn).deliver(anEnvelope('7', 1));
    expect(failure).toMatchObject({ reason: expect.stringContaining(says), blames: 'subscriber' });
  });

  it('an event waits, with what to set, when credentials are missing', async () => {
    useNoKey();
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    const failure = await eventBusAt(arn).deliver(anEnvelope('7', 1));
    const says = 'Set AWS_PROFILE, or the variables of your credentials';
    expect(failure).toMatchObject({ reason: expect.stringContaining(says), blames: 'subscriber' });
  });

  it('an event waits when whoever gives the credentials does not answer', async () => {
    useNoKey();
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', (await startSilent()).url);
    const failure = await eventBusAt(arn, createManualClock()).deliver(anEnvelope('7', 1));
    const says = 'the bus, or whoever gives the AWS credentials, does not answer in time';
    expect(failure).toMatchObject({ reason: expect.stringContaining(says), blames: 'subscriber' });
  });
});

describe.each([classic, custom])('credentials in a file for %s', (arn) => {
  async function startWithFile() {
    useNoKey();
    const file = path.join(newFolder(), 'credentials');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file);
    const renew = (key: string) =>
      writeFileSync(file, `[default]\naws_access_key_id = ${key}\naws_secret_access_key = secret\n`);
    renew('OLD');
    const local = await startPublishing('');
    onTestFinished(local.buses.stop);
    local.sandbox.control.createAdverts(2);
    local.buses.expire('OLD');
    return { ...local, renew };
  }

  it('a run goes on when credentials expire and are renewed in their file', async () => {
    const { buses, run, renew } = await startWithFile();
    const stop = new AbortController();
    let written = '';
    const running = run(`run ${quick} --event-bus ${arn}`, {
      signal: stop.signal,
      onOutput(text) {
        written += text;
        if (written.includes('ExpiredToken')) renew('NEW');
      },
    });
    await until('both events are accepted', () => buses.accepted.length === 2);
    stop.abort();

    expect((await running).exitCode).toBe(0);
    expect(written).toContain('the AWS credentials have expired. Renew them');
  });

  it('run --until-idle ends with 3 and keeps events when credentials expire', async () => {
    const { buses, runUntilIdle, renew } = await startWithFile();
    const { now, sleep } = systemClock;
    let ahead = 0;
    vi.spyOn(systemClock, 'now').mockImplementation(() => now() + ahead);
    vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => {
      if (ms === 50) ahead += 31_000;
      return sleep(ms, signal);
    });
    onTestFinished(() => void vi.restoreAllMocks());

    const first = await runUntilIdle(`--event-bus ${arn}`);
    renew('NEW');
    const second = await runUntilIdle(`--event-bus ${arn}`);

    expect([first.exitCode, second.exitCode]).toEqual([3, 0]);
    expect(first.stderr).toMatch(/2 events wait for event bus .*the AWS credentials have expired/);
    expect(buses.accepted).toHaveLength(2);
  });
});

it('run publishes on a classic and a custom bus, each with every event', async ({ onTestFinished }) => {
  const { sandbox, buses, runUntilIdle } = await startPublishing(
    `--event-bus ${classic} --event-bus ${custom}`,
  );
  onTestFinished(buses.stop);
  const [id = ''] = sandbox.control.createAdverts(3, { status: 'new' });
  const first = await runUntilIdle();
  sandbox.control.setStatus(id, 'active');
  const second = await runUntilIdle();

  expect([first.exitCode, second.exitCode, first.stdout]).toEqual([0, 0, '']);
  const idsOf = (isCustom: boolean) =>
    buses.accepted.filter(({ group }) => (group !== undefined) === isCustom).map(({ eventId }) => eventId);
  expect(idsOf(true)).toHaveLength(4);
  expect([...idsOf(false)].sort()).toEqual([...idsOf(true)].sort());
  const ofFirst = idsOf(true).filter((eventId) => eventId.includes(`/${id}/`));
  expect(ofFirst.map((eventId) => eventId.split('/').at(-1))).toEqual(['1', '2']);
});

it.each([classic, custom])('run says at its start that there is no %s', async (arn) => {
  const { buses, run } = await startPublishing('');
  onTestFinished(buses.stop);
  buses.fail('missing');
  const stop = new AbortController();
  let written = '';
  const { exitCode } = await run(`run ${quick} --event-bus ${arn}`, {
    signal: stop.signal,
    onOutput(text) {
      written += text;
      if (written.includes('ResourceNotFound')) stop.abort();
    },
  });

  expect(written).toMatch(/an event bus cannot be seen.*there is no such bus\. Check its ARN/);
  expect(exitCode).toBe(0);
});

it('run keeps the events of a bus that AWS denies, and says what to allow', async ({ onTestFinished }) => {
  const { sandbox, buses, run } = await startPublishing('');
  onTestFinished(buses.stop);
  sandbox.control.createAdverts(2);
  buses.fail(...Array.from({ length: 200 }, () => 'denied' as const));
  const stop = new AbortController();
  let written = '';
  await run(`run ${quick} --event-bus ${custom} --stdout`, {
    signal: stop.signal,
    onOutput(text) {
      written += text;
      if (written.includes('AccessDenied') && written.match(/"sequence":1/g)?.length === 2) stop.abort();
    },
  });
  const status = await run('status --json');
  const forgotten = await run(`webhook ${custom} --forget --json`);

  expect(written).toContain('Allow events:PutEvents on this bus (AccessDeniedException)');
  const shown = { address: custom, state: 'failing', waiting: 2 };
  expect(JSON.parse(status.stdout).webhooks).toEqual([expect.objectContaining(shown)]);
  expect(JSON.parse(forgotten.stdout)).toMatchObject({ forgotten: true, events: 2 });
});

it.each([
  ['is a fault of', 'missing', 'fault', /no such bus\. Check its ARN/],
  ['is no fault of', 'unseen', 'ok', /each is there/],
] as const)('%s doctor when the bus of a run is %s', async (_, fault, result, says) => {
  const { buses, run, runUntilIdle } = await startPublishing(`--event-bus ${classic}`);
  onTestFinished(buses.stop);
  await runUntilIdle();
  buses.fail(fault);

  const { stdout } = await run('doctor --json');

  const found = JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'event-buses');
  expect(found).toMatchObject({ result, says: expect.stringMatching(says) });
  if (fault === 'missing') expect(found.mend).toContain(`webhook ${classic} --forget`);
});

it.each([
  ['adverts', 'expected the ARN of an event bus, arn:aws:events:'],
  ['arn:aws:sqs:eu-west-1:111122223333:adverts', 'this one is of another service'],
  ['arn:aws:events:eu-west-1:111122223333:event-busv2/adverts', 'ends with its ID'],
  [custom.slice(0, -1), 'ends with its ID, 25 letters'],
  ['arn:aws:events:eu-west-1:1111:event-bus/adverts', 'expected arn:aws:events:REGION:ACCOUNT:'],
  [classic.replace('aws', 'aws-cn'), 'expected the partition aws for this region, not aws-cn'],
  [custom.replace('eu-west-1', 'cn-north-1'), 'expected the partition aws-cn for this region, not aws'],
])('run refuses %s as a bus', async (arn, says) => {
  const { run } = await startConnected();
  const { exitCode, stderr } = await run(`run --until-idle --event-bus ${arn}`);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});

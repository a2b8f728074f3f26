import { beforeEach, describe, expect, it, vi } from 'vitest';
import { startBuses } from '../../../helpers/aws/fake-buses.ts';
import { quick, startConnected } from '../local-bridge.ts';

const classic = 'arn:aws:events:eu-west-1:111122223333:event-bus/adverts';
const custom = `arn:aws:events:eu-west-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;

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

describe('run --event-bus', () => {
  it('publishes on a classic bus and a custom bus, each with every event', async ({ onTestFinished }) => {
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

  it('keeps the events of a bus that AWS denies, and says what to allow', async ({ onTestFinished }) => {
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
    ['adverts', 'expected the ARN of an event bus, arn:aws:events:'],
    ['arn:aws:sqs:eu-west-1:111122223333:adverts', 'this one is of another service'],
    ['arn:aws:events:eu-west-1:111122223333:event-busv2/adverts', 'ends with its ID'],
    ['arn:aws:events:eu-west-1:1111:event-bus/adverts', 'expected arn:aws:events:REGION:ACCOUNT:'],
  ])('refuses %s as a bus', async (arn, says) => {
    const { run } = await startConnected();
    const { exitCode, stderr } = await run(`run --until-idle --event-bus ${arn}`);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(says);
  });
});

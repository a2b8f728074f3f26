import { expect, it } from 'vitest';
import { withBridge } from '../../../../operators/cli/bridge/open.ts';
import { localTarget } from '../../../../operators/cli/shared/target.ts';
import { startConnected, startLocal } from './local-bridge.ts';

it('other commands go by the settings of the latest run', async () => {
  const { run, dir } = await startConnected();
  const settingsOf = () =>
    withBridge(localTarget(dir), async (bridge) => {
      const { maxRequestsPerSecond, overlapSeconds } = await bridge.settings();
      return { maxRequestsPerSecond, overlapSeconds };
    });

  const before = await settingsOf();
  await run('run --until-idle --max-requests-per-second 2000 --overlap-seconds 20');

  expect(before).toEqual({ maxRequestsPerSecond: 10, overlapSeconds: 300 });
  expect(await settingsOf()).toEqual({ maxRequestsPerSecond: 2000, overlapSeconds: 20 });
});

it.each(['poll main', 'resync main --since 2020-01-01T00:00:00Z'])(
  'a refresh uses the settings of the latest run: %s stops no account',
  async (command) => {
    const { application, run, status, sandbox } = await startLocal();
    const { control } = sandbox;
    await application();
    const stdin = control.issueRefreshToken('main', 'v2 read');
    await run('connect main --refresh-token-stdin --required-scope=v2', { stdin });
    control.createAdverts(1);
    const ran = await run('run --until-idle --required-scope=v2');
    control.expireAccessTokens();

    const { exitCode, stderr } = await run(command);

    expect(ran.exitCode).toBe(0);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect((await status()).partnerAccounts).toMatchObject([{ state: 'polling' }]);
    const { checks } = JSON.parse((await run('doctor --json')).stdout);
    expect(checks).toContainEqual(expect.objectContaining({ name: 'tokens', result: 'ok' }));
  },
);

it('another command says at which rate it sends its requests', async () => {
  const { application, connect, run, sandbox } = await startLocal();
  await application();
  await run('run --until-idle --max-requests-per-second 2');
  const from = sandbox.control.journal.nextIndex;

  const { exitCode } = await connect();

  const [token = 0, feed = 0] = sandbox.control.journal.list(from).map(({ arrivedAtMs }) => arrivedAtMs);
  expect(exitCode).toBe(0);
  expect(feed - token).toBeGreaterThanOrEqual(450);
});

it('a list of wrong values has its fault named once', async () => {
  const { exitCode, stderr } = await (await startLocal()).run('run --publish-statuses ,');

  expect(exitCode).toBe(2);
  expect(stderr).toBe('advert-bridge: --publish-statuses: expected statuses, without a comma in one\n');
});

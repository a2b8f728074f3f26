import { describe, expect, it } from 'vitest';
import type { LocalBridge } from '../../../cli/targets/local/bridge.ts';
import { localCatchUp } from '../../../cli/targets/local/catch-up.ts';
import { withLocal } from '../../../cli/targets/open.ts';
import { startLocal } from './local-bridge.ts';

describe('the settings of the latest run', () => {
  it('are those that other commands on the same folder go by, unless they are given one', async () => {
    const { application, connect, run, dir } = await startLocal();
    await application();
    await connect();
    const settingsOf = (given = {}) =>
      withLocal({ kind: 'local', dir }, async (bridge: LocalBridge) => {
        const { poll } = await localCatchUp(bridge, given);
        const { maxRequestsPerSecond, overlapSeconds } = poll.settings;
        return { maxRequestsPerSecond, overlapSeconds };
      });

    const before = await settingsOf();
    await run('run --until-idle --max-requests-per-second 2000 --overlap-seconds 20');

    expect(before).toEqual({ maxRequestsPerSecond: 10, overlapSeconds: 300 });
    expect(await settingsOf()).toEqual({ maxRequestsPerSecond: 2000, overlapSeconds: 20 });
    expect(await settingsOf({ maxRequestsPerSecond: 5 })).toMatchObject({ maxRequestsPerSecond: 5 });
  });
});

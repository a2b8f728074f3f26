import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { createLocalPartner, noSubscriberYet } from '../../../embedded/partner.ts';
import { silentObserver } from '../../../operators/operations/bridge.ts';
import { bridgeSettingsSchema } from '../../../shared/contract/settings.ts';
import { startConnected } from '../operators/cli/local-bridge.ts';

it('a refresh whose request has no time left goes on and stores its pair', async () => {
  const { sandbox, inState } = await startConnected({ assumptions: { onlyNewestRefreshToken: true } });
  const { control, url } = sandbox;
  const [advertId = ''] = control.createAdverts(1);
  control.expireAccessTokens();
  control.faults.add({ endpoint: 'token', kind: 'delay', delayMs: 2_000, count: 1 });

  await inState(async (state) => {
    const partner = createLocalPartner({
      ...{ state, baseUrl: url, concurrency: 1, bridge: 'bridge', events: noSubscriberYet },
      ...{ settings: v.parse(bridgeSettingsSchema, {}), observer: silentObserver, newId: randomUUID },
    });
    const { generation = 0 } = (await state.partnerAccounts.read('main')) ?? {};
    const read = (ms: number) =>
      partner.readAdvert('main', advertId, { generation, feed: 'adverts', deadlineMs: Date.now() + ms });

    const refreshToken = async () => (await state.vault.read('main'))?.pair.refreshToken.reveal();
    const before = await refreshToken();

    await expect(read(1_000)).rejects.toThrow('not renewed in time');
    await partner.close();

    // The service takes only the newest one, so the one before is of no use.
    expect(await refreshToken()).not.toBe(before);
    expect(sandbox.control.issuedTokens()).toContain(await refreshToken());
  });
});

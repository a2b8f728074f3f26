/** Tests the whole client against the sandbox partner service; its parts have their own tests. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../sandbox/server.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import type { PartnerClient } from '../../../shared/partner-api/client.ts';
import { createPartnerReaders } from '../../../shared/partner-api/partner-service.ts';
import { createTokenSource } from '../../../shared/partner-api/token-source.ts';
import { freeHolds } from '../../helpers/holds.ts';
import { clientOf, faultOf, query, soon } from '../../helpers/partner-api/fixtures.ts';
import { partnerAccount, tokenPair } from '../../helpers/records.ts';

const ofOne = () => ({ ...soon(), generation: 1 });

let sandbox: Sandbox;
let client: PartnerClient;
beforeEach(async () => {
  sandbox = await startSandbox({ visibilityDelayMs: 0, adverts: 3, firstAdvertId: '9007199254740993' });
  client = clientOf(sandbox.url, { clock: systemClock });
});
afterEach(async () => {
  client.close();
  await sandbox.close();
});

/** A requester that refreshes at the sandbox, and a reader of what it stored. */
function tokensOf() {
  const { clientId, clientSecret } = sandbox.application;
  const application = { clientId: new Secret(clientId), clientSecret: new Secret(clientSecret) };
  const first = new Secret(sandbox.users[0]?.refreshToken ?? '');
  let pair = tokenPair({
    accessToken: new Secret('unknown'),
    refreshToken: first,
    scope: '',
    expiresAt: Number.POSITIVE_INFINITY,
    obtainedAt: 0,
  });
  let version = 1;
  const row = () =>
    partnerAccount({ generation: 1, token: { version: String(version), expiresAt: 0, usedAt: 0 } });
  const accounts = new CachedAccounts({
    read: async () => row(),
    list: async () => [row()],
    change: async () => row(),
  });
  return createTokenSource({
    holds: freeHolds,
    accounts,
    reader: { read: async () => ({ pair, version: String(version) }) },
    requester: {
      async refresh(_request, { deadlineMs }) {
        const grant = { type: 'refresh_token', refreshToken: pair.refreshToken } as const;
        const { answer } = await client.requestTokens(application, grant, { deadlineMs });
        pair = {
          ...pair,
          accessToken: new Secret(answer.access_token ?? ''),
          refreshToken: new Secret(answer.refresh_token ?? ''),
        };
        version += 1;
        return { kind: 'renewed' };
      },
    },
  });
}

describe('the client and the sandbox', () => {
  it('agree on pages, adverts and tokens, from a rejected token on', async () => {
    const { readPage, readAdvert } = createPartnerReaders({ client, tokens: tokensOf() });

    const { page } = await readPage('main', { ...query, since: '2020-01-01T00:00:00Z' }, ofOne());
    const advert = await readAdvert('main', '9007199254740993', { ...ofOne(), feed: 'adverts' });

    expect(page).toMatchObject({ hasMore: false, nextCursor: expect.any(String) });
    expect(advert.status).toEqual(expect.any(String));
  });

  it('agree on an advert that is not there', async () => {
    const { readAdvert } = createPartnerReaders({ client, tokens: tokensOf() });

    expect((await faultOf(readAdvert('main', '1', { ...ofOne(), feed: 'adverts' }))).code).toBe('not-found');
  });

  it('agree on a since that makes no sense', async () => {
    const { readPage } = createPartnerReaders({ client, tokens: tokensOf() });

    const fault = await faultOf(readPage('main', { ...query, since: 'yesterday' }, ofOne()));

    expect(fault).toMatchObject({ code: 'invalid-request', serviceCode: 'validation_error' });
  });
});

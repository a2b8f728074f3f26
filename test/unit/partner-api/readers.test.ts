import { describe, expect, it } from 'vitest';
import { BridgeFault, type FaultKind } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { AccessTokenOf, PartnerClient } from '../../../shared/partner-api/client.ts';
import { createPartnerReaders, type ReaderOptions } from '../../../shared/partner-api/partner-service.ts';
import { query } from '../../helpers/partner-api/fixtures.ts';

const options = { deadlineMs: 1_000, generation: 1 };

/** Readers over a client that answers the first tokens with these faults, and all others well. */
function setUp(...faults: readonly FaultKind[]) {
  const sent: string[] = [];
  const rejections: string[] = [];
  let version = 1;
  const answer = async (tokenOf: AccessTokenOf, what: string) => {
    const token = typeof tokenOf === 'function' ? await tokenOf(what) : tokenOf;
    sent.push(`${what} ${token.reveal()}`);
    const kind = faults[version - 1];
    if (kind) throw new BridgeFault(kind, kind);
  };
  const client: Pick<PartnerClient, 'feedPage' | 'advert' | 'adverts'> = {
    async feedPage(token, { since }, { partnerAccount }) {
      await answer(token, `${partnerAccount} ${since}`);
      return { page: { data: [], hasMore: false, nextCursor: 'n' }, receivedAt: 1, serviceTime: 2 };
    },
    async advert(token, _feed, id, { partnerAccount }) {
      await answer(token, `${partnerAccount} ${id}`);
      return { status: 'active', receivedAt: 3 };
    },
    async adverts(token, { position }, { partnerAccount }) {
      await answer(token, `${partnerAccount} page ${position}`);
      return { data: ['7'] };
    },
  };
  const tokens: ReaderOptions['tokens'] = {
    current: () => ({ token: new Secret(`token-${version}`), version: String(version), expiresAt: 0 }),
    reject(_name, rejected, because) {
      rejections.push(`${rejected} ${because}`);
      version += 1;
    },
  };
  return { ...createPartnerReaders({ client, tokens }), sent, rejections };
}

describe('the readers', () => {
  it('read pages, adverts and the list with the current token', async () => {
    const { readPage, readAdvert, listAdverts, sent } = setUp();

    expect(await readPage('main', query, options)).toMatchObject({ serviceTime: 2 });
    expect(await readAdvert('main', '7', { ...options, feed: 'adverts' })).toMatchObject({ receivedAt: 3 });
    expect(await listAdverts('main', { position: 1, limit: 100 }, options)).toEqual({ data: ['7'] });
    expect(sent).toEqual([`main ${query.since} token-1`, 'main 7 token-1', 'main page 1 token-1']);
  });

  const [rejected, small] = ['token-rejected', 'scope-insufficient'] as const;
  it.each<[string, FaultKind[], FaultKind | undefined, number, string[]]>([
    ['repeat a request whose token was rejected', [rejected], undefined, 2, ['1 token-rejected']],
    ['repeat it only once', [rejected, rejected], rejected, 2, ['1 token-rejected']],
    ['reject a token of too small a scope, and fail', [small], small, 1, ['1 scope-insufficient']],
    ['do so for a renewed one', [rejected, small], small, 2, ['1 token-rejected', '2 scope-insufficient']],
    ['pass every other fault on', ['not-found'], 'not-found', 1, []],
  ])('%s', async (_title, faults, code, requests, expected) => {
    const { readAdvert, sent, rejections } = setUp(...faults);

    const outcome = await readAdvert('main', '7', { ...options, feed: 'adverts' }).catch(
      (fault: BridgeFault) => fault.code,
    );

    expect(outcome).toEqual(code ?? { status: 'active', receivedAt: 3 });
    expect([sent.length, rejections]).toEqual([requests, expected]);
  });
});

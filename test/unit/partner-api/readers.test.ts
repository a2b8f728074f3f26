import { describe, expect, it } from 'vitest';
import { BridgeFault, type FaultKind } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { AccessTokenOf, PartnerClient } from '../../../shared/partner-api/client.ts';
import { createPartnerReaders } from '../../../shared/partner-api/partner-service.ts';
import type { TokenSource } from '../../../shared/ports/tokens.ts';
import { faultOf, query } from '../../helpers/partner-api/fixtures.ts';

const deadlineMs = 1_000;

/** Readers over a client that answers the tokens in `answers` with a fault, and all others well. */
function setUp(answers: Record<string, FaultKind>) {
  const sent: string[] = [];
  const rejections: string[] = [];
  let version = 1;
  const answer = async (tokenOf: AccessTokenOf, what: string) => {
    const token = typeof tokenOf === 'function' ? await tokenOf(what) : tokenOf;
    sent.push(`${what} ${token.reveal()}`);
    const kind = answers[token.reveal()];
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
  const tokens: TokenSource = {
    current: () => ({ token: new Secret(`token-${version}`), version: String(version) }),
    reject(_name, rejected, because) {
      rejections.push(`${rejected} ${because}`);
      version += 1;
    },
  };
  return { ...createPartnerReaders({ client, tokens }), sent, rejections };
}

describe('the readers', () => {
  it('read a page and an advert with the current token', async () => {
    const { readPage, readAdvert, sent } = setUp({});

    expect(await readPage('main', query, { deadlineMs, generation: 1 })).toMatchObject({ serviceTime: 2 });
    expect(await readAdvert('main', '7', { deadlineMs, generation: 1, feed: 'adverts' })).toEqual({
      status: 'active',
      receivedAt: 3,
    });
    expect(sent).toEqual(['main 2026-11-20T12:00:00Z token-1', 'main 7 token-1']);
  });

  it('renew a rejected token and repeat the request', async () => {
    const { readAdvert, sent, rejections } = setUp({ 'token-1': 'token-rejected' });

    expect((await readAdvert('main', '7', { deadlineMs, generation: 1, feed: 'adverts' })).status).toBe(
      'active',
    );
    expect(sent).toEqual(['main 7 token-1', 'main 7 token-2']);
    expect(rejections).toEqual(['1 token-rejected']);
  });

  it('repeat it once only', async () => {
    const { readAdvert, sent } = setUp({ 'token-1': 'token-rejected', 'token-2': 'token-rejected' });

    expect(
      (await faultOf(readAdvert('main', '7', { deadlineMs, generation: 1, feed: 'adverts' }))).code,
    ).toBe('token-rejected');
    expect(sent).toHaveLength(2);
  });

  it('hand a token of too small a scope back, and fail', async () => {
    const { readPage, sent, rejections } = setUp({ 'token-1': 'scope-insufficient' });

    expect((await faultOf(readPage('main', query, { deadlineMs, generation: 1 }))).code).toBe(
      'scope-insufficient',
    );
    expect(sent).toHaveLength(1);
    expect(rejections).toEqual(['1 scope-insufficient']);
  });

  it('hand a renewed token of too small a scope back, too', async () => {
    const { readPage, rejections } = setUp({ 'token-1': 'token-rejected', 'token-2': 'scope-insufficient' });

    expect((await faultOf(readPage('main', query, { deadlineMs, generation: 1 }))).code).toBe(
      'scope-insufficient',
    );
    expect(rejections).toEqual(['1 token-rejected', '2 scope-insufficient']);
  });

  it('pass every other fault on', async () => {
    const { readAdvert, rejections } = setUp({ 'token-1': 'not-found' });

    expect(
      (await faultOf(readAdvert('main', '7', { deadlineMs, generation: 1, feed: 'adverts' }))).code,
    ).toBe('not-found');
    expect(rejections).toEqual([]);
  });
});

describe('the list of adverts', () => {
  it('is read with the current token, and again with a renewed one', async () => {
    const { listAdverts, sent } = setUp({ 'token-1': 'token-rejected' });
    const page = { position: 1, limit: 100 };

    expect(await listAdverts('main', page, { generation: 3, deadlineMs })).toEqual({ data: ['7'] });
    expect(sent).toEqual(['main page 1 token-1', 'main page 1 token-2']);
  });
});

import { describe, expect, it } from 'vitest';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { PartnerAccounts } from '../../shared/ports/partner-accounts.ts';
import { partnerAccount } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface PartnerAccountsSubject extends Cleaned {
  readonly partnerAccounts: PartnerAccounts;
}

const complete: PartnerAccount = partnerAccount({
  stop: { reason: 'disconnected', tokenVersion: '7', at: '2026-11-20T12:00:00Z', unanswered: true },
  pause: { until: 1_763_640_100_000, reason: 'the same token came back', attempts: 2 },
  operatorPause: { who: 'ann', since: 1_763_640_000_000, until: 1_763_640_100_000, reason: 'a migration' },
  refreshing: { holder: 'run-1', startedAt: 1_763_640_000_000, until: 1_763_640_090_000 },
  token: { version: '7', expiresAt: 1_763_643_600_000, usedAt: 1_763_640_000_000 },
  owedEvents: ['{"source":"advert-bridge"}', '{"ü":"\\""}'],
});

/** Conformance tests for every store of partner accounts. */
export function partnerAccountsSuite(name: string, make: () => Promise<PartnerAccountsSubject>): void {
  describe(`${name}: partner accounts`, () => {
    const subject = subjects(make);

    it('knows nothing of an account that was never written', async () => {
      const { partnerAccounts } = await subject();
      expect(await partnerAccounts.read('main')).toBeUndefined();
      expect(await partnerAccounts.list()).toEqual([]);
      await partnerAccounts.remove('main');
    });

    it('gives back what was written, whole', async () => {
      const { partnerAccounts } = await subject();
      expect(await partnerAccounts.write(complete, 0)).toBe(true);
      expect((await partnerAccounts.read('main'))?.value).toEqual(complete);
      expect(await partnerAccounts.list()).toEqual([complete]);
    });

    it('forgets what a later write leaves out', async () => {
      const { partnerAccounts } = await subject();
      await partnerAccounts.write(complete, 0);
      const version = (await partnerAccounts.read('main'))?.version ?? 0;
      expect(await partnerAccounts.write(partnerAccount(), version)).toBe(true);
      const read = await partnerAccounts.read('main');
      expect(read?.value).toEqual(partnerAccount());
      expect(read?.version).toBeGreaterThan(version);
    });

    it('refuses a write over a version that is not the current one', async () => {
      const { partnerAccounts } = await subject();
      await partnerAccounts.write(partnerAccount(), 0);
      const version = (await partnerAccounts.read('main'))?.version ?? 0;
      await partnerAccounts.write(complete, version);
      expect(await partnerAccounts.write(partnerAccount(), version)).toBe(false);
      expect(await partnerAccounts.write(partnerAccount(), 0)).toBe(false);
      expect((await partnerAccounts.read('main'))?.value).toEqual(complete);
    });

    it('refuses to change an account that is gone', async () => {
      const { partnerAccounts } = await subject();
      await partnerAccounts.write(partnerAccount(), 0);
      const version = (await partnerAccounts.read('main'))?.version ?? 0;
      await partnerAccounts.remove('main');
      expect(await partnerAccounts.write(partnerAccount(), version)).toBe(false);
      expect(await partnerAccounts.read('main')).toBeUndefined();
    });

    it('refuses a writer of before when the account was forgotten and connected again', async () => {
      const { partnerAccounts } = await subject();
      await partnerAccounts.write(partnerAccount(), 0);
      const version = (await partnerAccounts.read('main'))?.version ?? 0;
      await partnerAccounts.remove('main');
      const anew = partnerAccount({ generation: partnerAccount().generation + 1 });
      expect(await partnerAccounts.write(anew, 0)).toBe(true);
      expect(await partnerAccounts.write(complete, version)).toBe(false);
      expect((await partnerAccounts.read('main'))?.value).toEqual(anew);
    });

    it('lets one of many writers win', async () => {
      const { partnerAccounts } = await subject();
      await partnerAccounts.write(partnerAccount(), 0);
      const version = (await partnerAccounts.read('main'))?.version ?? 0;
      const wrote = await Promise.all([1, 2, 3, 4].map(() => partnerAccounts.write(complete, version)));
      expect(wrote.filter(Boolean)).toHaveLength(1);
    });

    it('keeps the others when one is removed, in the order of their names', async () => {
      const { partnerAccounts } = await subject();
      for (const name of ['other', 'main', 'main2']) await partnerAccounts.write(partnerAccount({ name }), 0);
      await partnerAccounts.remove('main');
      expect((await partnerAccounts.list()).map(({ name }) => name)).toEqual(['main2', 'other']);
    });
  });
}

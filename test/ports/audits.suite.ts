import { describe, expect, it } from 'vitest';
import type { AuditProgress, Audits } from '../../shared/ports/audits.ts';
import type { BookKeeper } from '../../shared/ports/books.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface AuditsSubject extends Cleaned {
  readonly audits: Audits;
  readonly bookKeeper: Pick<BookKeeper, 'read'>;
}

const key = { partnerAccount: 'main', generation: 1_763_640_000 };
const progress: AuditProgress = {
  ...{ id: 'a', state: 'running', source: 'sample 299', position: '0a:100', checked: 100, equal: 97 },
  differing: [{ advertId: '9007199254740993', published: 'aktywne ✓', actual: null, owed: true }],
  ...{ neverPublished: ['7'], undecided: ['8'], repaired: 0, population: 41_210 },
  ...{ startedAt: '2026-11-20T12:00:00.000Z', updatedAt: '2026-11-20T12:01:00.000Z' },
};

/**
 * Conformance tests for every store of audits' progress.
 *
 * @param countsListed whether it counts for the books what was sent; else its queue does
 */
export function auditsSuite(name: string, countsListed: boolean, make: () => Promise<AuditsSubject>): void {
  describe(`${name}: audits`, () => {
    const subject = subjects(make);

    it('knows none before one has begun, and gives back what was written', async () => {
      const { audits } = await subject();
      expect(await audits.read(key)).toBeUndefined();
      expect(await audits.write(key, progress, 0, 0)).toBe(true);
      expect(await audits.read(key)).toEqual({ value: progress, version: 1 });
      expect(await audits.read({ ...key, generation: 7 })).toBeUndefined();
      expect(await audits.read({ ...key, partnerAccount: 'shop' })).toBeUndefined();
    });

    it('is written over the version that was read, and over no other', async () => {
      const { audits } = await subject();
      await audits.write(key, progress, 0, 0);
      expect(await audits.write(key, { ...progress, id: 'b' }, 0, 0)).toBe(false);
      expect(await audits.write(key, { ...progress, id: 'c' }, 2, 0)).toBe(false);
      expect(await audits.write(key, { ...progress, id: 'd' }, 1, 0)).toBe(true);
      expect(await audits.read(key)).toMatchObject({ value: { id: 'd' }, version: 2 });
    });

    it(`counts what was sent ${countsListed ? 'once for each version' : 'nowhere: the queue does'}`, async () => {
      const { audits, bookKeeper } = await subject();
      await audits.write(key, progress, 0, 3);
      await audits.write(key, progress, 0, 5);
      await audits.write(key, progress, 1, 4);

      const { listed } = await bookKeeper.read(key.partnerAccount, key.generation);
      expect(listed).toBe(countsListed ? 7 : 0);
    });
  });
}

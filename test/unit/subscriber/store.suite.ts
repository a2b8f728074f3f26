import { describe, expect, it } from 'vitest';
import type { PositionStore } from '../../../subscriber/index.ts';

const at = (sequence: number, generation = 1) => ({ generation, sequence });
const claimOf = (sequence: number, owner = 'a', until = 1_000) => ({ position: at(sequence), owner, until });

/** Conformance tests for every position store. `fresh` returns an empty one. */
export function positionStoreSuite(name: string, fresh: () => Promise<PositionStore>): void {
  describe(`a position store: ${name}`, () => {
    it('grants the first claim', async () => {
      const store = await fresh();

      expect(await store.claim('main/1', claimOf(1), 0)).toEqual({ kind: 'granted', applied: undefined });
    });

    it('keeps others off until the claim runs out', async () => {
      const store = await fresh();
      await store.claim('main/1', claimOf(1), 0);

      expect(await store.claim('main/1', claimOf(2, 'b', 2_000), 999)).toEqual({
        kind: 'busy',
        until: 1_000,
      });
      expect(await store.claim('main/1', claimOf(2, 'b', 2_000), 1_000)).toMatchObject({ kind: 'granted' });
    });

    it('keeps adverts apart', async () => {
      const store = await fresh();
      await store.claim('main/1', claimOf(1), 0);

      expect(await store.claim('main/2', claimOf(1, 'b'), 0)).toMatchObject({ kind: 'granted' });
    });

    it('tells what was applied, and grants only what is newer', async () => {
      const store = await fresh();
      await store.claim('main/1', claimOf(5), 0);

      expect(await store.confirm('main/1', 'a', at(5))).toBe(true);

      expect(await store.claim('main/1', claimOf(4, 'b'), 1)).toEqual({ kind: 'superseded', applied: at(5) });
      expect(await store.claim('main/1', claimOf(5, 'b'), 1)).toEqual({ kind: 'superseded', applied: at(5) });
      expect(await store.claim('main/1', claimOf(6, 'b'), 1)).toEqual({ kind: 'granted', applied: at(5) });
    });

    it('compares generations first, and numbers as numbers', async () => {
      const store = await fresh();
      const next = (generation: number, sequence: number) =>
        store.claim('main/1', { position: at(sequence, generation), owner: 'a', until: 10 }, 0);
      await next(9, 100);
      await store.confirm('main/1', 'a', at(100, 9));

      expect(await next(9, 20)).toMatchObject({ kind: 'superseded' });
      expect(await next(10, 1)).toMatchObject({ kind: 'granted', applied: at(100, 9) });
    });

    it('confirms less than was claimed, where only a part was applied', async () => {
      const store = await fresh();
      await store.claim('main/1', claimOf(5), 0);
      await store.confirm('main/1', 'a', at(4));

      expect(await store.claim('main/1', claimOf(5, 'b'), 0)).toEqual({ kind: 'granted', applied: at(4) });
    });

    it('takes a confirmation twice, as a client sends it when an answer was lost', async () => {
      const store = await fresh();
      await store.claim('main/1', claimOf(5), 0);
      await store.confirm('main/1', 'a', at(5));

      expect(await store.claim('main/1', claimOf(5, 'a'), 0)).toMatchObject({ kind: 'superseded' });
    });

    it('lets go at once what was released, and remembers nothing of it', async () => {
      const store = await fresh();
      await store.claim('main/1', claimOf(5), 0);
      await store.release('main/1', 'a');

      expect(await store.claim('main/1', claimOf(5, 'b'), 0)).toEqual({
        kind: 'granted',
        applied: undefined,
      });
    });

    it('lets nobody confirm or release a claim that another has taken over', async () => {
      const store = await fresh();
      await store.claim('main/1', claimOf(5, 'a', 10), 0);
      await store.claim('main/1', claimOf(6, 'b', 100), 20);

      expect(await store.confirm('main/1', 'a', at(5))).toBe(false);
      await store.release('main/1', 'a');
      expect(await store.claim('main/1', claimOf(7, 'c'), 20)).toEqual({ kind: 'busy', until: 100 });
      expect(await store.confirm('main/1', 'b', at(6))).toBe(true);
    });

    it('gives one of many the claim', async () => {
      const store = await fresh();

      const answers = await Promise.all(
        [...'abcdefghij'].map((owner) => store.claim('main/1', claimOf(1, owner), 0)),
      );

      expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
      expect(answers.filter(({ kind }) => kind === 'busy')).toHaveLength(9);
    });
  });
}

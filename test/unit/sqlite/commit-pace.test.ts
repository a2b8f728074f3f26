import { describe, expect, it } from 'vitest';
import { createCommitPace } from '../../../shared/sqlite/file/commit-pace.ts';

function make() {
  let now = 0;
  const pace = createCommitPace(() => now);
  return {
    /** Commits `changes` as soon as it may. @returns how long that took, ms */
    commit(changes: number): number {
      const waitMs = pace.waitMs();
      now += waitMs;
      pace.committed(changes);
      return waitMs;
    },
    rest: (ms: number) => {
      now += ms;
    },
  };
}
const times = <T>(count: number, work: () => T): T[] => Array.from({ length: count }, work);

describe('the pace of commits', () => {
  it('lets a burst through at once, and again after a rest', () => {
    const { commit, rest } = make();
    expect(times(20, () => commit(50))).toEqual(times(20, () => 0));
    rest(200);
    expect(times(20, () => commit(50))).toEqual(times(20, () => 0));
  });

  it('has one each 10 ms under load that goes on', () => {
    const { commit } = make();
    times(20, () => commit(50));
    expect(times(100, () => commit(50))).toEqual(times(100, () => 10));
  });

  it('does not hold up for long who writes one change after the other', () => {
    const { commit } = make();
    const waits = times(1_000, () => commit(1));
    expect(waits.filter((ms) => ms > 0).length).toBeLessThan(50);
  });

  it('is not in debt after commits that did not wait', () => {
    const { commit } = make();
    times(20, () => commit(50));
    times(1_000, () => commit(50));
    expect(commit(50)).toBe(10);
  });
});

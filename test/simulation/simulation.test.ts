import { describe, expect, it } from 'vitest';
import { addCounts, missingOf } from './model/coverage.ts';
import { simulate } from './run/simulate.ts';
import { realUseCases } from './world/use-cases.ts';

const options = { wiring: { useCases: realUseCases } };

describe('the bridge, with everything going wrong', () => {
  it('keeps its invariants in 300 seeds, in which everything occurs', async () => {
    const failing: string[] = [];
    const counts = new Map<string, number>();

    for (let seed = 1; seed <= 300; seed += 1) {
      const { violations, coverage } = await simulate(seed, options);
      const [violation] = violations;
      addCounts(counts, coverage);
      if (violation) failing.push(`--seed ${seed}: ${violation.invariant} ${violation.message}`);
    }

    expect(failing).toEqual([]);
    expect(missingOf(counts)).toEqual([]);
  }, 180_000);

  it('does the same with the same seed', async () => {
    const first = await simulate(5, { ...options, isTraced: true });
    const second = await simulate(5, { ...options, isTraced: true });

    expect(first.lines.length).toBeGreaterThan(100);
    expect(second.lines).toEqual(first.lines);
  });

  it('does what is left of a run in which an incident is left out', async () => {
    const whole = await simulate(2, options);
    const left = whole.incidents[0]?.key ?? '';

    const run = await simulate(2, { ...options, without: new Set([left]) });

    expect(run.incidents.map(({ key }) => key)).not.toContain(left);
  });
});

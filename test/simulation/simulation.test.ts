import { describe, expect, it } from 'vitest';
import { simulate } from './run/simulate.ts';

/** Eight seconds on an idle machine; in some of the worlds, delays are measured. */
const timeout = 120_000;

describe('the bridge, with everything going wrong', { timeout }, () => {
  it('keeps its invariants in 40 seeds', async () => {
    const failing: string[] = [];

    for (let seed = 1; seed <= 40; seed += 1) {
      const { violations } = await simulate(seed, {});
      const [violation] = violations;
      if (violation) failing.push(`--seed ${seed}: ${violation.invariant} ${violation.message}`);
    }

    expect(failing).toEqual([]);
  });

  it('does the same with the same seed', async () => {
    const first = await simulate(50, { isTraced: true });
    const second = await simulate(50, { isTraced: true });

    expect(first.lines.length).toBeGreaterThan(100);
    expect(second.lines).toEqual(first.lines);
  });

  it('replays the rest of a run when an incident is left out', async () => {
    const whole = await simulate(20, {});
    const left = whole.incidents[0]?.key ?? '';

    const run = await simulate(20, { without: new Set([left]) });

    expect(run.incidents.map(({ key }) => key)).not.toContain(left);
  });
});

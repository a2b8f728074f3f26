import type { Random } from '../../../sandbox/state/random.ts';

export type Stage = 'drain' | 'fanOut' | 'refreshToken';

/**
 * What is done to the functions. `killed`: SIGKILL in the middle of an invocation. `timed out`: frozen (SIGSTOP) in
 * the middle of an invocation until it times out. `twice`: the same work is given at once to two workers, or to a
 * second worker while the first one, frozen, outlives its visibility timeout or lease.
 */
export const faultNames = [
  'fan-out killed',
  'drain killed',
  'refresh-token killed',
  'fan-out timed out',
  'drain timed out',
  'refresh-token timed out',
  'batch delivered twice',
  'batch outlived its visibility',
  'drain invoked twice',
  'drain outlived its lease',
  'refresh-token invoked twice',
] as const;

export type FaultName = (typeof faultNames)[number];

/** Number of each fault per fifty: most for the faults with the greatest risk. */
const shares: Readonly<Record<FaultName, number>> = {
  'fan-out killed': 10,
  'drain killed': 7,
  'refresh-token killed': 5,
  'fan-out timed out': 4,
  'drain timed out': 3,
  'refresh-token timed out': 3,
  'batch delivered twice': 5,
  'batch outlived its visibility': 6,
  'drain invoked twice': 2,
  'drain outlived its lease': 3,
  'refresh-token invoked twice': 2,
};

/** The faults of a run in order: every fifty have the shares above. */
export function planOf(random: Random, count: number): FaultName[] {
  const fifty = faultNames.flatMap((name) => Array<FaultName>(shares[name]).fill(name));
  const plan: FaultName[] = [];
  while (plan.length < count) plan.push(...shuffled(random, fifty));
  return plan.slice(0, count);
}

function shuffled<T>(random: Random, values: readonly T[]): T[] {
  const keyed = values.map((value) => ({ value, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
}

/** The number of each fault, in the order of `faultNames`. */
export function tally(names: readonly FaultName[]): Map<FaultName, number> {
  const counted = faultNames.map((name) => [name, names.filter((each) => each === name).length] as const);
  return new Map(counted.filter(([, count]) => count > 0));
}

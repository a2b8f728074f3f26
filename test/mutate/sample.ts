import { streamOf } from '../simulation/model/random.ts';

/** `count` of `list` at random, the same ones for the same seed. */
export function sampleOf<T>(list: readonly T[], count: number, seed: number): T[] {
  const random = streamOf(seed);
  const ranked = list.map((item) => ({ item, rank: random() }));
  return ranked
    .sort((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ item }) => item);
}

/**
 * Where the share of the whole lies, with 95 % confidence, by a sample without replacement.
 *
 * @see https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Wilson_score_interval
 */
export function intervalOf(hits: number, count: number, of: number): [from: number, to: number] {
  const share = hits / count;
  const z = 1.96 * Math.sqrt((of - count) / Math.max(1, of - 1));
  const middle = share + z ** 2 / (2 * count);
  const half = z * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2));
  return [(middle - half) / (1 + z ** 2 / count), (middle + half) / (1 + z ** 2 / count)];
}

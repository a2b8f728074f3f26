/** Statistics: what a random sample says about the whole population. */

/** Number of bisection steps; more would not improve a double. */
const halvings = 60;

/**
 * The upper confidence bound of the share of wrong items, after `wrong` of `checked` items were found wrong
 * (Clopper–Pearson, one-sided). With a greater share, at most 1 − `confidence` of all samples would contain so few
 * wrong items. Exact for sampling with replacement, and slightly conservative without.
 *
 * @param confidence between 0 and 1. Default 0.95
 * @returns between 0 and 1; 1 when nothing was checked
 * @see https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Clopper–Pearson_interval
 */
export function upperBound(wrong: number, checked: number, confidence = 0.95): number {
  if (wrong >= checked) return 1;
  let [low, high] = [wrong / checked, 1];
  for (let halving = 0; halving < halvings; halving += 1) {
    const middle = (low + high) / 2;
    if (chanceOfAtMost(wrong, checked, middle) > 1 - confidence) low = middle;
    else high = middle;
  }
  return high;
}

/** The probability that at most `wrong` of `checked` items are wrong if the share of wrong items is `share`. */
function chanceOfAtMost(wrong: number, checked: number, share: number): number {
  const [logShare, logRest] = [Math.log(share), Math.log1p(-share)];
  let sum = 0;
  let logWays = 0;
  for (let count = 0; count <= wrong; count += 1) {
    // Computed with logarithms, because the factors exceed the range of a double.
    sum += Math.exp(logWays + count * logShare + (checked - count) * logRest);
    logWays += Math.log((checked - count) / (count + 1));
  }
  return sum;
}

/** What a random sample says about all that it was drawn from. */

/** Halvings of the interval: as far as a double goes. */
const halvings = 60;

/**
 * The greatest share of wrong ones that is still credible after `wrong` of `checked` were found wrong: with a greater
 * one, so few would be found in at most 1 − `confidence` of all samples (Clopper–Pearson, one-sided). Exact for drawing
 * with replacement; a sample without replacement says a little more.
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

/** The chance that at most `wrong` of `checked` are wrong where the share of wrong ones is `share`. */
function chanceOfAtMost(wrong: number, checked: number, share: number): number {
  const [logShare, logRest] = [Math.log(share), Math.log1p(-share)];
  let sum = 0;
  let logWays = 0;
  for (let count = 0; count <= wrong; count += 1) {
    // Logarithms: the factors alone are beyond what a double holds.
    sum += Math.exp(logWays + count * logShare + (checked - count) * logRest);
    logWays += Math.log((checked - count) / (count + 1));
  }
  return sum;
}

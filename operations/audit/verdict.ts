/** What an audit's progress says about all adverts, and what is left for a person. */
import { upperBound } from '../../shared/domain/clopper-pearson.ts';
import type { AuditProgress } from '../../shared/ports/audits.ts';

/** At most the share `mostWrong` is wrong, with this confidence. */
export interface Bound {
  readonly confidence: number;
  readonly mostWrong: number;
}

const confidence = 0.95;

/**
 * Undecided adverts count as wrong, so that the bound holds whatever their result is.
 *
 * @returns null when a person chose the adverts: they say nothing about the others
 */
export function boundOf(progress: AuditProgress): Bound | null {
  const { source, checked, equal, population = Number.POSITIVE_INFINITY } = progress;
  const wrong = checked - equal;
  if (source.startsWith('full') || checked >= population) {
    return { confidence: 1, mostWrong: checked === 0 ? 0 : wrong / checked };
  }
  return source.startsWith('sample')
    ? { confidence, mostWrong: upperBound(wrong, checked, confidence) }
    : null;
}

/** Number of adverts that differ, or may differ, and were not repaired. */
export const leftOver = ({ differing, neverPublished, undecided, repaired }: AuditProgress): number =>
  differing.length + neverPublished.length + undecided.length - repaired;

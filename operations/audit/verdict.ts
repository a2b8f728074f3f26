/** What the progress of an audit says about all adverts, and what is left for a person. */
import { upperBound } from '../../shared/domain/clopper-pearson.ts';
import type { AuditProgress } from '../../shared/ports/audits.ts';

/** At most this share is wrong, with this confidence. */
export interface Bound {
  readonly confidence: number;
  readonly mostWrong: number;
}

const confidence = 0.95;

/**
 * What is not decided counts as wrong, so that the bound holds whatever becomes of it.
 *
 * @returns null when the adverts were chosen by a person: they say nothing about the others
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

/** How many adverts differ, or may differ, and were not repaired. */
export const leftOver = ({ differing, neverPublished, undecided, repaired }: AuditProgress): number =>
  differing.length + neverPublished.length + undecided.length - repaired;

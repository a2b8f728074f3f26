import { withOpening } from '../bridge/open.ts';
import type { Place } from '../shared/explain.ts';
import type { Target } from '../shared/target.ts';
import type { Examined } from './ports/examined.ts';

/** Calls `work` with what `doctor` examines. The bridge need not exist, and nothing in it is changed. */
export function withExamined<R>(
  target: Target,
  work: (examined: Examined, place: Place) => Promise<R>,
): Promise<R> {
  if (target.kind === 'local') {
    return withOpening(target, {}, async (opening) => {
      const { localExamined } = await import('./local/doctor/examined.ts');
      return work(localExamined(opening), opening.place);
    });
  }
  return withOpening(target, {}, async (opening) => {
    const { stackExamined } = await import('./stack/doctor/examined.ts');
    return work(stackExamined(opening), opening.place);
  });
}

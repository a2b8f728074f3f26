import { count } from './figures.ts';

/** As `status --json` has them. */
interface Answers {
  readonly counts: Readonly<Record<string, number>>;
  readonly meanMs: number | null;
  readonly rateUsed: number;
  readonly rateUsedAtMost: number;
  readonly maxRequestsPerSecond: number;
}

/** What the service answered in the last quarter of an hour, and how much of the rate was used: two lines. */
export function answersLines(answers: Answers): string[] {
  const { counts, meanMs, rateUsed, rateUsedAtMost, maxRequestsPerSecond } = answers;
  const kinds = Object.entries(counts).map(
    ([kind, number]) => `${count(number)} ${answerWords[kind] ?? kind}`,
  );
  if (kinds.length === 0) return ['answers of the last 15 min: none, because nothing was requested'];
  const mean = meanMs === null ? '' : `, ${count(meanMs)} ms on average`;
  return [
    `answers of the last 15 min: ${kinds.join(', ')}${mean}`,
    `rate: ${percent(rateUsed)} of ${maxRequestsPerSecond} requests a second used, ${percent(rateUsedAtMost)} in the busiest minute`,
  ];
}

const answerWords: Readonly<Record<string, string>> = {
  none: 'without an answer',
  'rate-limited': 'rate-limited (429)',
  forbidden: 'forbidden (403)',
};

const percent = (part: number): string => (part > 0 && part < 0.01 ? '<1 %' : `${Math.round(100 * part)} %`);

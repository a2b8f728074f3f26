/** Numbers and durations as people read them, in a terminal and on the console's page. */
import type { Answers } from './printed.ts';

/** A number with commas. Without Intl, which takes 10 ms to load, a third of Node's own start time. */
export const count = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');

export const are = (number: number, one = 'is', several = 'are'): string =>
  `${count(number)} ${number === 1 ? one : several}`;

/** With the smaller unit, too: `95 s`, `2 min 5 s`, `3 h 2 min`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  return whole < 7200 ? inUnits(whole, 'min', 's') : inUnits(Math.round(whole / 60), 'h', 'min');
}

function inUnits(whole: number, unit: string, smaller: string): string {
  const rest = whole % 60;
  return `${count(Math.floor(whole / 60))} ${unit}${rest === 0 ? '' : ` ${rest} ${smaller}`}`;
}

/** What the service answered in the last quarter of an hour, and how much of the rate was used: two lines. */
export function answersLines(answers: Omit<Answers, 'minutes'>): string[] {
  const { counts, meanMs, rateUsed, rateUsedAtMost, maxRequestsPerSecond } = answers;
  const kinds = Object.entries(counts).map(
    ([kind, number]) => `${count(number)} ${answerWords[kind] ?? wordsOf(kind)}`,
  );
  if (kinds.length === 0) return ['answers of the last 15 min: none, because nothing was requested'];
  const mean = meanMs === null ? '' : `, ${count(meanMs)} ms on average`;
  return [
    `answers of the last 15 min: ${kinds.join(', ')}${mean}`,
    `rate: ${percent(rateUsed)} of ${maxRequestsPerSecond} requests a second used, ${percent(rateUsedAtMost)} in the busiest minute`,
  ];
}

/** The words of a name or a code, such as `inFlight` or `refresh-token-rejected`. */
export const wordsOf = (name: string): string =>
  name.replace(/-|[A-Z]/g, (found) => ` ${found === '-' ? '' : found.toLowerCase()}`);

const answerWords: Readonly<Record<string, string>> = {
  none: 'without an answer',
  'rate-limited': 'rate-limited (429)',
  forbidden: 'forbidden (403)',
};

const percent = (part: number): string => (part > 0 && part < 0.01 ? '<1 %' : `${Math.round(100 * part)} %`);

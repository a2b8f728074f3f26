/** Values as people read them. */

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Such as `2 h 5 min`, `12 s`, `under 1 s`; at most two units. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 1) return 'under 1 s';
  const first = units.findIndex(([, size]) => whole >= size);
  const shown: string[] = [];
  let rest = whole;
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) shown.push(`${count} ${unit}`);
  }
  return shown.join(' ');
}

const whole = new Intl.NumberFormat('en');
export const count = (value: number): string => whole.format(value);

/** `1 dead letter`, `1,000 dead letters`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const dayAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** The time of day in the reader's zone; with the day, if it is not today. */
export function time(instant: string | number): string {
  const date = new Date(instant);
  const isToday = date.toDateString() === new Date().toDateString();
  return (isToday ? timeOfDay : dayAndTime).format(date);
}

/** Characters that are not shown, or that change how others are shown, as `\uXXXX`. */
export const printable = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  );

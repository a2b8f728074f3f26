import { are } from '../../shared/domain/text/figures.ts';

/** `1 dead letter`, `1,000 dead letters`. */
export const counted = (value: number, noun: string): string => are(value, noun, `${noun}s`);

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const dayAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** The time of day in the reader's zone; with the day, if it is not today. */
export function time(instant: string | number): string {
  const date = new Date(instant);
  const isToday = date.toDateString() === new Date().toDateString();
  return (isToday ? timeOfDay : dayAndTime).format(date);
}

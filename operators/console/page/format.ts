import { printableLine } from '../../../shared/domain/text.ts';
import { are } from '../../operations/figures.ts';
import type { Snapshot } from '../snapshot.ts';

/** `1 dead letter`, `1,000 dead letters`. */
export const counted = (value: number, noun: string): string => are(value, noun, `${noun}s`);

/** As an operator would give the command. */
export const commandLine = ({ command }: Snapshot['bridge'], words: string): string =>
  command.replace('{}', () => words);

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const dayAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

const instants = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** A text of the bridge or of the service, with its times in the reader's zone. */
export const readable = (text: string): string =>
  printableLine(text).replaceAll(instants, (instant) => time(instant));

/** The time of day in the reader's zone; with the day, if it is not today. */
export function time(instant: string | number): string {
  const date = new Date(instant);
  const isToday = date.toDateString() === new Date().toDateString();
  return (isToday ? timeOfDay : dayAndTime).format(date);
}

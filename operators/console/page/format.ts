import { printableLine } from '../../../shared/domain/text.ts';
import { are } from '../../operations/figures.ts';
import type { Facts, Snapshot } from '../snapshot.ts';

/** `1 dead letter`, `1,000 dead letters`. */
export const counted = (value: number, noun: string): string => are(value, noun, `${noun}s`);

/** As an operator would give the command. */
export const commandLine = ({ command }: Snapshot['bridge'], words: string): string =>
  command.replace('{}', () => words);

/** Who gets the events; undefined if neither is known: a bridge has the classic bus, the custom one, or both. */
export function takersText(rules: Facts['rules'], subscribers: Facts['subscribers']): string | undefined {
  const known = Object.entries({ rule: rules, subscriber: subscribers }).filter(([, takers]) => takers);
  if (known.length === 0) return undefined;
  const texts = known.flatMap(([noun, takers]) => {
    const names = (takers ?? []).map(({ name, state }) =>
      /^(enabled|running)$/.test(state) ? printableLine(name) : `${printableLine(name)} (${state})`,
    );
    return names.length === 0 ? [] : `${noun}s on the bus: ${names.join(', ')}`;
  });
  if (texts.length > 0) return texts.join('; ');
  return `no ${known.map(([noun]) => noun).join(' and no ')} on the bus: nobody gets the events`;
}

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

/**
 * What may go wrong with a call, and how often. The rates are drawn for each seed, so that some seeds have only one
 * kind of trouble.
 */
import { hashOf, pick, type Random, streamOf } from './random.ts';

export const callIncidents = [
  /** The process ends before the call. */
  'crash-before',
  /** The call is performed, then the process ends. */
  'crash-after',
  /** Refused: nothing is performed. */
  'refused',
  /** Performed, but the caller gets an error. */
  'answer-lost',
  /** Performed twice, as by a client that retries by itself. */
  'doubled',
  /** Performed much later. */
  'late',
  /** Performed immediately, answered much later. */
  'answer-late',
  /** Performed only in part. */
  'in-part',
] as const;
export const answerIncidents = [
  'timeout',
  'reset',
  'cut-off',
  'status-500',
  'html-503',
  'wait-503',
  'wait-429',
  'status-429',
  'status-403',
  'status-400',
  'html-404',
  'unauthorized',
  'wrong-shape',
  'wrong-id',
  'not-json',
  'cursor-rejected',
  'slow',
  'wrong-date',
] as const;
export type CallIncident = (typeof callIncidents)[number];
export const writes = callIncidents.filter((kind) => kind !== 'in-part');
export const reads: readonly CallIncident[] = ['crash-before', 'refused', 'answer-late'];
export type AnswerIncident = (typeof answerIncidents)[number];
export type IncidentKind = CallIncident | AnswerIncident;

const allKinds: readonly IncidentKind[] = [...callIncidents, ...answerIncidents];

export type Rates = Readonly<Record<IncidentKind, number>>;

const scarce: ReadonlySet<IncidentKind> = new Set(['crash-before', 'crash-after', 'status-403']);
/** Faults between two workers require that one of them is late. */
const delays: ReadonlySet<IncidentKind> = new Set(['late', 'answer-late', 'slow']);

/**
 * `quiet`: nothing goes wrong by itself. `late`: workers constantly overtake one another, and little else happens.
 * `overtaken`: several deliveries of one message are handled concurrently, with slow writes and a bus that often
 * rejects events. This covers faults that require three late workers for the same advert, which is too rare in the
 * other tempers.
 */
export type Temper = 'quiet' | 'late' | 'overtaken' | 'mixed';

export function ratesOf(temper: Temper, seed: number): Rates {
  const random = streamOf(seed);
  const rates = Object.fromEntries(allKinds.map((kind) => [kind, 0])) as Record<IncidentKind, number>;
  if (temper === 'quiet') return rates;
  if (temper === 'late') {
    const general = pick(random, [0.5, 1, 2]);
    return {
      ...rates,
      late: 0.08 * general,
      'answer-late': 0.08 * general,
      slow: 0.05 * general,
      refused: 0.06,
      'answer-lost': 0.03,
      'crash-after': 0.01,
    };
  }
  // An advert that cannot be read makes one worker give up, while another one continues.
  if (temper === 'overtaken') return { ...rates, 'wrong-shape': 0.15, slow: pick(random, [0, 0.3]) };
  const general = pick(random, [0.3, 1, 1, 2]);
  for (const kind of allKinds) {
    const rate = pick(random, [0, 0, 0.004, 0.012, 0.03]) * general;
    rates[kind] = scarce.has(kind) ? rate / 3 : delays.has(kind) ? rate * 3 : rate;
  }
  return rates;
}

/** Ports with their own incident rates. */
export function ratesOfPorts(temper: Temper, seed: number): ReadonlyMap<string, Partial<Rates>> {
  if (temper !== 'overtaken') return new Map();
  const random = streamOf(seed);
  // Drawn from a separate stream, so that nothing else of the seed changes.
  const late = pick(streamOf(hashOf('late reads', seed)), [0, 0.6, 0.9]);
  return new Map([
    // If one of these answers late, an older delivery may have the newer fetch. A late read returns a row that is newer
    // than an advert that was fetched before the read.
    ['history.get', { 'answer-late': pick(random, [0, 0.3]), late }],
    ['queue.receive', { 'answer-late': pick(random, [0, 0.4]) }],
    ['history.put', { late: 0.5 }],
    ['events.publish', { refused: 0.4 }],
  ]);
}

/** Returns one of `allowed`, or, nearly always, undefined. Draws exactly one random number. */
export function drawIncident<K extends IncidentKind>(
  random: Random,
  rates: Partial<Rates>,
  allowed: readonly K[],
): K | undefined {
  let left = random();
  for (const kind of allowed) {
    left -= rates[kind] ?? 0;
    if (left < 0) return kind;
  }
  return undefined;
}

/** What may go wrong with a call, and how often: drawn for each seed, so that some seeds know only one kind of trouble. */
import { pick, type Random, streamOf } from './random.ts';

export const callIncidents = [
  /** The process ends before the call. */
  'crash-before',
  /** The call is carried out, then the process ends. */
  'crash-after',
  /** Refused: nothing happens. */
  'refused',
  /** Carried out, but the caller gets an error. */
  'answer-lost',
  /** Carried out twice, as by a client that repeats by itself. */
  'doubled',
  /** Carried out much later. */
  'late',
  /** Carried out at once, answered much later. */
  'answer-late',
  /** Carried out for a part of what was asked. */
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
export type AnswerIncident = (typeof answerIncidents)[number];
export type IncidentKind = CallIncident | AnswerIncident;

const allKinds: readonly IncidentKind[] = [...callIncidents, ...answerIncidents];

export type Rates = Readonly<Record<IncidentKind, number>>;

const scarce: ReadonlySet<IncidentKind> = new Set(['crash-before', 'crash-after', 'status-403']);
/** Whatever goes wrong between two workers takes one of them being late. */
const delays: ReadonlySet<IncidentKind> = new Set(['late', 'answer-late', 'slow']);

/**
 * `quiet`: nothing goes wrong by itself. `late`: workers overtake one another all the time, and little else happens.
 * `overtaken`: several deliveries of one message at work at once, slow to write and often refused by the bus: what takes
 * three workers to be late at the same advert is too rare everywhere else.
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
  // An advert that cannot be read ends the tries of one worker, while another one goes on.
  if (temper === 'overtaken') return { ...rates, 'wrong-shape': 0.15, slow: pick(random, [0, 0.3]) };
  const general = pick(random, [0.3, 1, 1, 2]);
  for (const kind of allKinds) {
    const rate = pick(random, [0, 0, 0.004, 0.012, 0.03]) * general;
    rates[kind] = scarce.has(kind) ? rate / 3 : delays.has(kind) ? rate * 3 : rate;
  }
  return rates;
}

/** Ports that fail at rates of their own. */
export function ratesOfPorts(temper: Temper, seed: number): ReadonlyMap<string, Partial<Rates>> {
  if (temper !== 'overtaken') return new Map();
  const random = streamOf(seed);
  return new Map([
    // With one of these answered late an older delivery's fetch may be the newer one.
    ['histories.read', { 'answer-late': pick(random, [0, 0.3]) }],
    ['queue.receive', { 'answer-late': pick(random, [0, 0.4]) }],
    ['histories.write', { late: 0.5 }],
    ['events.publish', { refused: 0.4 }],
  ]);
}

/** One of `allowed`, or nothing, as nearly always. Draws exactly once. */
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

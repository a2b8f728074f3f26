import * as v from 'valibot';
import type { Random } from './random.ts';
import { parseStrictly } from './settings.ts';

const endpoint = v.picklist(['feed', 'advert', 'adverts', 'create-advert', 'threads', 'token', 'authorize']);
export type EndpointName = v.InferOutput<typeof endpoint>;

const kind = v.picklist([
  /** Any status, with any body (a string unchanged, anything else as JSON) and headers. */
  'status',
  'html',
  'invalid-json',
  /** A 200 whose JSON differs from the document. Default body: `{"data":{"unexpected":true}}`. */
  'wrong-shape',
  /** The request is neither processed nor answered. */
  'hang',
  /** The request is not processed, and the connection is reset. */
  'reset',
  /** The request is processed, then the connection is reset: the answer is lost. */
  'lost-answer',
  /** The request is processed; half of its answer arrives. */
  'cut-off',
  /** The request is processed; its answer arrives `delayMs` later. */
  'delay',
]);

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
export const faultSchema = v.pipe(
  v.strictObject({
    kind,
    status: v.optional(v.pipe(count, v.minValue(200), v.maxValue(599))),
    body: v.optional(v.unknown()),
    headers: v.optional(v.record(v.string(), v.string())),
    delayMs: v.optional(count),
    // The requests that the fault applies to; an absent field means all.
    endpoint: v.optional(endpoint),
    user: v.optional(v.string()),
    advertId: v.optional(v.string()),
    /** Feed requests with (true) or without (false) a cursor. */
    hasCursor: v.optional(v.boolean()),
    /** Played from the nth matching request on, counted from 1. Default 1. */
    nth: v.optional(count),
    /** How often it is played. Default: once with `nth`, otherwise until it is removed. */
    count: v.optional(count),
    /** Probability that it is played for a matching request. Default 1. */
    probability: v.optional(v.number()),
  }),
  v.check(({ kind, status }) => kind !== 'status' || status !== undefined, 'status is required'),
  v.check(({ kind, delayMs }) => (kind === 'delay') === (delayMs !== undefined), 'delayMs is for kind delay'),
);
export type Fault = v.InferOutput<typeof faultSchema>;

export type StandingFault = Fault & {
  readonly id: number;
  /** Number of requests that matched so far, and of those for which the fault was played. */
  matched: number;
  struck: number;
};

/** Whether the request is processed although its answer does not arrive completely or on time. */
export const isCarriedOut = ({ kind }: Fault): boolean =>
  kind === 'lost-answer' || kind === 'cut-off' || kind === 'delay';

const criteria = ['endpoint', 'user', 'advertId', 'hasCursor'] as const;
type FaultedRequest = { readonly [K in (typeof criteria)[number]]: Fault[K] | null };

/** The faults that the sandbox plays. @see partner-api.md §7 */
export function createFaultBook(random: Random) {
  const standing = new Map<number, StandingFault>();
  let lastId = 0;
  return {
    /** @returns the fault's ID. @throws {RangeError} naming the field that does not fit */
    add(fault: Fault): number {
      const checked = parseStrictly(faultSchema, fault);
      lastId += 1;
      standing.set(lastId, { ...checked, id: lastId, matched: 0, struck: 0 });
      return lastId;
    },
    list: (): StandingFault[] => [...standing.values()].map((fault) => ({ ...fault })),
    /** @returns whether there was such a fault */
    remove: (id: number): boolean => standing.delete(id),
    clear: (): void => standing.clear(),
    /** The fault to play for this request: of the matching faults, the one added first. */
    strike(request: FaultedRequest): StandingFault | undefined {
      for (const fault of standing.values()) {
        if (!criteria.every((name) => (fault[name] ?? request[name]) === request[name])) continue;
        fault.matched += 1;
        const maxCount = fault.count ?? (fault.nth === undefined ? Number.POSITIVE_INFINITY : 1);
        if (fault.matched < (fault.nth ?? 1) || fault.struck >= maxCount) continue;
        if (fault.probability !== undefined && random() >= fault.probability) continue;
        fault.struck += 1;
        return fault;
      }
      return undefined;
    },
  };
}

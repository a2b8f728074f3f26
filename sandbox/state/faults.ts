import type { Random } from './random.ts';

export const endpointNames = [
  'feed',
  'advert',
  'adverts',
  'create-advert',
  'threads',
  'order-feed',
  'order',
  'token',
  'authorize',
] as const;

export type EndpointName = (typeof endpointNames)[number];

/** The action that replaces or changes the real answer. */
export type FaultAction =
  /** Any status, with any body (a string unchanged, anything else as JSON) and headers. */
  | { kind: 'status'; status: number; body?: unknown; headers?: Record<string, string> }
  | { kind: 'html'; status?: number }
  | { kind: 'invalid-json' }
  /** A 200 whose JSON differs from the document. Default body: `{"data":{"unexpected":true}}`. */
  | { kind: 'wrong-shape'; body?: unknown }
  /** A 200 with a body of this size. Default: 64 MiB. */
  | { kind: 'huge'; bytes?: number }
  /** The request is neither processed nor answered. */
  | { kind: 'hang' }
  /** The request is not processed, and the connection is reset. */
  | { kind: 'reset' }
  /** The request is processed, then the connection is reset: the answer is lost. */
  | { kind: 'lost-answer' }
  /** The request is processed; half of its answer arrives. */
  | { kind: 'cut-off' }
  /** The request is processed; its answer arrives this many milliseconds later. */
  | { kind: 'delay'; delayMs: number };

export const faultKinds = [
  'status',
  'html',
  'invalid-json',
  'wrong-shape',
  'huge',
  'hang',
  'reset',
  'lost-answer',
  'cut-off',
  'delay',
] as const satisfies readonly FaultAction['kind'][];

/** The requests that a fault applies to; an absent field means all. */
export interface FaultFilter {
  readonly endpoint?: EndpointName;
  readonly user?: string;
  readonly advertId?: string;
  /** Feed requests with (true) or without (false) a cursor. */
  readonly hasCursor?: boolean;
  /** Played from the nth matching request on, counted from 1. Default 1. */
  readonly nth?: number;
  /** How often it is played. Default: once with `nth`, otherwise until it is removed. */
  readonly count?: number;
  /** Probability that it is played for a matching request. Default 1. */
  readonly probability?: number;
}

export type Fault = FaultFilter & FaultAction;

export type StandingFault = Fault & {
  readonly id: number;
  /** Number of requests that matched so far, and of those for which the fault was played. */
  matched: number;
  struck: number;
};

export interface FaultedRequest {
  readonly endpoint: EndpointName | null;
  readonly user: string | null;
  readonly advertId: string | null;
  readonly hasCursor: boolean;
}

export interface FaultBook {
  /** @returns the fault's ID */
  add(fault: Fault): number;
  list(): StandingFault[];
  /** @returns whether there was such a fault */
  remove(id: number): boolean;
  clear(): void;
  /** The fault to play for this request: of the matching faults, the one added first. */
  strike(request: FaultedRequest): StandingFault | undefined;
}

/** The faults that the sandbox plays. @see partner-api.md §7 */
export function createFaultBook(random: Random): FaultBook {
  const standing = new Map<number, StandingFault>();
  let lastId = 0;
  return {
    add: (fault) => {
      lastId += 1;
      standing.set(lastId, { ...fault, id: lastId, matched: 0, struck: 0 });
      return lastId;
    },
    list: () => [...standing.values()].map((fault) => ({ ...fault })),
    remove: (id) => standing.delete(id),
    clear: () => standing.clear(),
    strike: (request) => {
      if (standing.size === 0) return undefined;
      for (const fault of standing.values()) {
        if (!matches(fault, request)) continue;
        fault.matched += 1;
        const count = fault.count ?? (fault.nth === undefined ? Number.POSITIVE_INFINITY : 1);
        if (fault.matched < (fault.nth ?? 1) || fault.struck >= count) continue;
        if (fault.probability !== undefined && random() >= fault.probability) continue;
        fault.struck += 1;
        return fault;
      }
      return undefined;
    },
  };
}

function matches(fault: FaultFilter, request: FaultedRequest): boolean {
  return (
    (fault.endpoint === undefined || fault.endpoint === request.endpoint) &&
    (fault.user === undefined || fault.user === request.user) &&
    (fault.advertId === undefined || fault.advertId === request.advertId) &&
    (fault.hasCursor === undefined || fault.hasCursor === request.hasCursor)
  );
}

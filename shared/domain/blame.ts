/**
 * An answer of the service holds the smallest thing that explains it: the advert alone, then (several different adverts
 * of an account, no success of it between) the account, then (several accounts, no success between) the bridge. A success
 * narrows it again. The evidence is kept in the memory of a process; what it shows becomes a hold (holds.ts), which is
 * stored.
 */
import type { FaultKind } from './faults.ts';
import { endOfHold, type Hold, type HoldKind } from './holds.ts';

interface BlameRule {
  readonly kind: HoldKind;
  readonly reason: string;
  /** So many different resources of an account hold the account. */
  readonly account: number;
  /** So many of at least two accounts hold the bridge. */
  readonly bridge: number;
  /** Length of the first hold, and the longest that repeated faults make it. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const [secondMs, minuteMs] = [1_000, 60_000];
/** All requests would get the same answer: no more messages may be dead-lettered for it, and one a minute tries it. */
const permanent: BlameRule = {
  ...{ kind: 'service', reason: 'the service refuses all requests alike' },
  ...{ account: 20, bridge: 20, firstMs: minuteMs, maxMs: minuteMs },
};

/** Other faults are no evidence: the service has judged that request, so they count as a success. */
const rules: Readonly<Partial<Record<FaultKind, BlameRule>>> = {
  transient: {
    ...{ kind: 'service', reason: 'the service does not answer, or with errors' },
    ...{ account: 3, bridge: 4, firstMs: 5 * secondMs, maxMs: 10 * minuteMs },
  },
  /** The limit is the application's, so one answer holds the bridge. */
  'rate-limited': {
    ...{ kind: 'service', reason: 'the service asked for a pause' },
    ...{ account: 1, bridge: 1, firstMs: secondMs, maxMs: minuteMs },
  },
  forbidden: {
    ...{ kind: 'circuit', reason: 'the service answers 403 to different requests' },
    ...{ account: 3, bridge: 2, firstMs: minuteMs, maxMs: 60 * minuteMs },
  },
  'token-rejected': {
    ...{ kind: 'token', reason: 'the service rejects the token in different requests' },
    ...{ account: 3, bridge: 6, firstMs: 5 * secondMs, maxMs: 60 * minuteMs },
  },
  'invalid-request': permanent,
  'request-refused': permanent,
  'wrong-path': permanent,
  'contract-broken': permanent,
};

/** What a resource is, without its account and its number: an advert, or a feed. */
const kindOf = (resource: string): string => resource.replace(/^\S* |\d+$/g, '');

/** Whether a success clears the suspect: that a feed is read says nothing about adverts that are refused. */
const clears = (resource: string, fault: string, suspect: string): boolean =>
  // Rule: refusals-judged-by-kind
  rules[fault as FaultKind] !== permanent || kindOf(suspect) === kindOf(resource);

/** Whether a success shows that the reason of the hold is over. */
export const isEndedBy = (resource: string, { fault, blamed = [] }: Hold): boolean =>
  fault !== undefined &&
  (rules[fault as FaultKind] !== permanent || blamed.some((suspect) => clears(resource, fault, suspect)));

export const isEvidence = (fault: FaultKind): boolean => rules[fault] !== undefined;

export interface Evidence {
  /** Undefined for a token request. */
  readonly account: string | undefined;
  readonly resource: string;
  /** Undefined after a success. */
  readonly fault: FaultKind | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly sentAt: number;
}

export interface Verdict {
  /** Undefined: the whole bridge. */
  readonly account: string | undefined;
  readonly hold: Hold;
}

interface Bad extends Evidence {
  readonly fault: FaultKind;
}

/** A hold that begins within this time after another of the same fault is twice as long. */
const againMs = 2 * minuteMs;
const maxBlamed = 20;

/** The hold after an answer: as long as the service asked for, and otherwise `forMs`. */
function holdAfter({ fault, retryAfterMs = 0 }: Bad, forMs: number, now: number): Hold {
  const { kind, reason } = rules[fault] ?? permanent;
  const length = Math.max(retryAfterMs, forMs);
  return { kind, fault, reason, since: now, until: now + length, forMs: length };
}

/**
 * The hold after a trial that has failed: twice as long, at most as long as its rule allows. If it has failed with another
 * fault, another resource tries next; if the service only asks to wait, that is the hold.
 *
 * @returns undefined when the answer ends the hold: the service has judged the request, so it does not refuse all alike
 * for the reason of the hold
 */
export function afterTrial(hold: Hold, { fault, ...evidence }: Evidence, now: number): Hold | undefined {
  const rule = fault && rules[fault];
  if (rule === permanent && rules[hold.fault as FaultKind] !== permanent) return undefined;
  if (fault === 'rate-limited' && fault !== hold.fault)
    return holdAfter({ ...evidence, fault }, rule?.firstMs ?? 0, now);
  if (fault === undefined) return hold;
  const { forMs = 0, since } = hold;
  const blamed = [...new Set([...(hold.blamed ?? []), evidence.resource])].slice(-maxBlamed);
  if (fault !== hold.fault) return isEndedBy(evidence.resource, hold) ? { ...hold, blamed } : hold;
  const longestMs = Math.max(forMs, rule?.maxMs ?? 0);
  const next = holdAfter({ ...evidence, fault }, Math.min(2 * forMs, longestMs), now);
  return { ...next, since, blamed };
}

export class Blame {
  readonly #circuitMs: number;
  /** Faults of different resources, with no success of their account since. */
  #ofAccounts: readonly Bad[] = [];
  /** The same, with no success of any account since. */
  #ofBridge: readonly Bad[] = [];
  /** The last hold of each account that this process made; without a name: of the bridge. */
  readonly #last = new Map<string | undefined, Hold>();

  /** @param circuitMs length of the bridge's first hold because of 403 */
  constructor(circuitMs: number) {
    this.#circuitMs = circuitMs;
  }

  /**
   * @param isOnly whether the bridge has no other account
   * @returns the hold that is necessary after this answer, together with those before it
   */
  answered(evidence: Evidence, now: number, isOnly = false): Verdict | undefined {
    const { account, resource, fault } = evidence;
    const rule = fault && rules[fault];
    if (!fault || !rule) return this.#succeeded(account, resource);
    const bad = { ...evidence, fault };
    // What was sent before a hold began gives no new information, unless the service asks for a longer wait.
    if (this.#isBeforeHold(undefined, bad)) return undefined;
    if (fault === 'rate-limited') return this.#verdict(undefined, bad, [], now);
    if (account === undefined || this.#isBeforeHold(account, bad)) return undefined;
    this.#ofBridge = withFault(this.#ofBridge, bad);
    this.#ofAccounts = withFault(this.#ofAccounts, bad);
    const all = this.#ofBridge.filter((one) => one.fault === fault);
    const own = this.#ofAccounts.filter((one) => one.fault === fault && one.account === account);
    // Rule: blame-several-accounts
    if (all.some((one) => one.account !== account) && all.length >= rule.bridge)
      return this.#verdict(undefined, bad, all, now);
    // A blocked address cannot show in another account.
    // Rule: blame-the-only-account
    if (isOnly && fault === 'forbidden' && own.length >= rule.bridge)
      return this.#verdict(undefined, bad, own, now);
    // Rule: blame-several-adverts
    return own.length >= rule.account ? this.#verdict(account, bad, own, now) : undefined;
  }

  #isBeforeHold(account: string | undefined, { sentAt, retryAfterMs = 0 }: Bad): boolean {
    const last = this.#last.get(account);
    return last !== undefined && sentAt <= last.since && sentAt + retryAfterMs <= endOfHold(last);
  }

  /** A success of an account clears its own suspects, and no accounts are suspected together any more. */
  #succeeded(account: string | undefined, resource: string): undefined {
    const isLeft = (one: Bad) => !clears(resource, one.fault, one.resource);
    this.#ofBridge = this.#ofBridge.filter(isLeft);
    this.#ofAccounts = this.#ofAccounts.filter((one) => one.account !== account || isLeft(one));
  }

  #verdict(account: string | undefined, bad: Bad, suspects: readonly Bad[], now: number): Verdict {
    const { fault } = bad;
    const before = this.#last.get(account);
    const isAgain = before?.fault === fault && now - endOfHold(before) < againMs;
    const hold = (isAgain && afterTrial(before, bad, now)) || this.#firstHold(account, bad, now);
    const blamed = suspects.slice(-maxBlamed).map(({ resource }) => resource);
    const made = { ...hold, since: now, blamed };
    if (account === undefined) this.#ofBridge = this.#ofBridge.filter((one) => one.fault !== fault);
    else this.#ofAccounts = this.#ofAccounts.filter((one) => one.fault !== fault || one.account !== account);
    this.#last.set(account, made);
    return { account, hold: made };
  }

  #firstHold(account: string | undefined, bad: Bad, now: number): Hold {
    const isAddress = account === undefined && bad.fault === 'forbidden';
    return holdAfter(bad, isAddress ? this.#circuitMs : (rules[bad.fault]?.firstMs ?? 0), now);
  }
}

/** Each resource counts once. */
const withFault = (faults: readonly Bad[], bad: Bad): readonly Bad[] =>
  faults.some(({ fault, resource }) => fault === bad.fault && resource === bad.resource)
    ? faults
    : [...faults, bad];

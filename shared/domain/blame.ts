/**
 * An answer of the service holds the smallest thing that explains it: the advert alone, then (several different adverts
 * of an account within a minute, no success of it between) the account, then (several accounts, no success between) the
 * bridge. A success narrows it again. The evidence is kept in the memory of a process; what it shows becomes a hold
 * (holds.ts), which is stored.
 */
import type { BridgeFault, FaultKind } from './faults.ts';
import { endOfHold, type Hold, type Holder, type HoldKind } from './holds.ts';

/**
 * @param numbers so many different resources of an account hold the account; so many of at least two accounts hold the
 * bridge; length of the first hold, and the longest that repeated faults make it, in seconds
 */
const rule = (kind: HoldKind, reason: string, numbers: readonly [number, number, number, number]) => {
  const [account, bridge, first, longest] = numbers;
  return { kind, reason, account, bridge, firstMs: first * 1_000, maxMs: longest * 1_000 };
};

/** All requests would get the same answer: no more messages may be dead-lettered for it, and one a minute tries it. */
const refusal = rule('service', 'the service refuses all requests alike', [20, 20, 60, 60]);

/** Other faults are no evidence: the service has judged that request, so they count as a success. */
const rules: Readonly<Record<string, ReturnType<typeof rule> | undefined>> = {
  transient: rule('service', 'the service does not answer, or with errors', [3, 4, 5, 600]),
  /** The limit is the application's, so one answer holds the bridge. */
  'rate-limited': rule('service', 'the service asked for a pause', [1, 1, 1, 60]),
  forbidden: rule('circuit', 'the service answers 403 to different requests', [3, 2, 5, 3_600]),
  'token-rejected': rule('token', 'the service rejects the token in different requests', [3, 6, 5, 3_600]),
  'invalid-request': refusal,
  'request-refused': refusal,
  'wrong-path': refusal,
  'contract-broken': refusal,
} satisfies Partial<Record<FaultKind, object>>;

const isRefusal = (fault = ''): boolean => rules[fault] === refusal;

/** What a resource is, without its account and its number: an advert, or a feed. */
const kindOf = (resource: string): string => resource.replace(/^\S* |\d+$/g, '');

/**
 * Whether a success clears a suspect: any shows that the service answers, but that a feed is read says nothing about
 * adverts that are refused, or about the adverts of its account.
 *
 * @param owner the account that is suspected; undefined: the whole bridge
 */
const clears = (resource: string, owner: string | undefined, fault: string, suspect: string): boolean =>
  // Rule: judged-by-kind
  (owner === undefined && !isRefusal(fault)) || kindOf(resource) === kindOf(suspect);

/** Whether an answer about `resource` can end the hold. After its end, only such a request tries the service. */
export const mayJudge = (
  resource: string,
  owner: string | undefined,
  { fault = '', blamed = [] }: Hold,
): boolean => blamed.length === 0 || blamed.some((one) => clears(resource, owner, fault, one));

/** What one answer shows. */
export interface Evidence {
  /** Undefined for a token request. */
  readonly account: string | undefined;
  readonly resource: string;
  /** Undefined after a success. */
  readonly fault: BridgeFault | undefined;
  readonly sentAt: number;
}

/** Whether the answer speaks against the service; otherwise it counts as a success. */
export const isBad = ({ fault }: Pick<Evidence, 'fault'>): boolean =>
  fault !== undefined && rules[fault.code] !== undefined;

const maxBlamed = 20;

/** The hold after an answer: as long as the service asked for, and otherwise `forMs`. */
function holdAfter({ code, retryAfterMs = 0 }: BridgeFault, forMs: number, now: number): Hold {
  const { kind, reason } = rules[code] ?? refusal;
  const length = Math.max(retryAfterMs, forMs);
  return { kind, fault: code, reason, since: now, until: now + length, forMs: length };
}

/** When an answer last made it, or made it longer. */
const begunAt = (hold: Hold): number => endOfHold(hold) - (hold.forMs ?? 0);

/** Twice as long as before, at most as long as its rule allows. */
const longer = ({ fault = '', forMs = 0 }: Hold): number =>
  Math.min(2 * forMs, Math.max(forMs, rules[fault]?.maxMs ?? 0));

/**
 * The hold after the answer to a request that has tried the service: none after a success that clears what is blamed, and
 * twice as long after the same fault. Otherwise, another resource tries next; but if the service only asks to wait, that
 * is the hold.
 *
 * @param owner of the hold; undefined: the whole bridge
 *
 * @returns undefined when the hold is over
 */
export function afterTrial(
  hold: Hold,
  owner: string | undefined,
  { fault, resource }: Evidence,
  now: number,
): Hold | undefined {
  const { fault: held = '', since, blamed: suspects = [] } = hold;
  const isJudged = mayJudge(resource, owner, hold);
  if (!fault || !rules[fault.code]) return isJudged ? undefined : hold;
  // What the service refuses, it has judged, so the reason of the hold is over.
  if (isRefusal(fault.code) && !isRefusal(held)) return undefined;
  // The limit is the application's: any resource may try the service after the pause.
  const blamed = fault.code === 'rate-limited' ? [] : [...new Set([...suspects, resource])].slice(-maxBlamed);
  if (fault.code === held) return { ...holdAfter(fault, longer(hold), now), since, blamed };
  if (fault.code === 'rate-limited') return holdAfter(fault, rules[fault.code]?.firstMs ?? 0, now);
  return isJudged ? { ...hold, blamed } : hold;
}

export interface Verdict {
  /** Undefined: the whole bridge. */
  readonly account: string | undefined;
  readonly hold: Hold;
}

interface Suspect {
  readonly account: string;
  readonly resource: string;
  readonly fault: FaultKind;
  readonly at: number;
}

/**
 * So long an answer counts, ms, for other processes may have had a success since. Refusals count without an end: on a
 * quiet bridge, twenty of them take hours.
 */
const suspectMs = 60_000;
/** A hold that begins within this time after another of the same fault is twice as long. */
const againMs = 120_000;

export class Blame {
  readonly #circuitMs: number;
  /**
   * Resources that answered with a fault, each once: by account, with no success of it since; without a name, of all
   * accounts, with no success of any since.
   */
  readonly #suspects = new Map<string | undefined, readonly Suspect[]>();
  /** The last hold of each account that this process made; without a name: of the bridge. */
  readonly #last = new Map<string | undefined, Hold>();
  #succeededAt = 0;

  /** @param circuitMs length of the bridge's first hold because of 403 */
  constructor(circuitMs: number) {
    this.#circuitMs = circuitMs;
  }

  /**
   * @param only the account, if the bridge has no other: its hold may be because of answers to another process
   * @returns the hold that is necessary after this answer, together with those before it
   */
  answered({ account, resource, fault, sentAt }: Evidence, now: number, only?: Holder): Verdict | undefined {
    const rule = fault && rules[fault.code];
    if (!rule) {
      this.#succeededAt = now;
      for (const owner of [undefined, account])
        this.#keep(owner, (one) => !clears(resource, owner, one.fault, one.resource));
      return undefined;
    }
    // What was sent before a hold began gives no new information, unless the service asks for a longer wait.
    const isStale = (owner: string | undefined) => {
      const last = this.#last.get(owner);
      return last && sentAt <= last.since && sentAt + (fault.retryAfterMs ?? 0) <= endOfHold(last);
    };
    if (isStale(undefined)) return undefined;
    if (fault.code === 'rate-limited') return this.#verdict(undefined, fault, [], now);
    if (account === undefined || isStale(account)) return undefined;
    const suspect = { account, resource, fault: fault.code, at: now };
    const all = this.#with(undefined, suspect);
    const own = this.#with(account, suspect);
    // Rule: blame-several-accounts
    const isOfSeveral = all.some((one) => one.account !== account);
    if (isOfSeveral && all.length >= rule.bridge) return this.#verdict(undefined, fault, all, now);
    // A blocked address cannot show in another account, but in the feed and in adverts.
    const held = only?.holds?.find((hold) => hold.fault === fault.code && begunAt(hold) > this.#succeededAt);
    const kinds = new Set([...all.map((one) => one.resource), ...(held?.blamed ?? [])].map(kindOf));
    // Rule: blame-the-only-account
    if (only && fault.code === 'forbidden' && kinds.size > 1)
      return this.#verdict(undefined, fault, all, now);
    // Rule: blame-several-adverts
    return own.length >= rule.account ? this.#verdict(account, fault, own, now) : undefined;
  }

  /** The last hold is not in force, so answers that were under way before it count. */
  forget(account: string | undefined): void {
    this.#last.delete(account);
  }

  #keep(owner: string | undefined, isLeft: (one: Suspect) => boolean): void {
    this.#suspects.set(owner, (this.#suspects.get(owner) ?? []).filter(isLeft));
  }

  /** @returns all of the same fault */
  #with(owner: string | undefined, suspect: Suspect): readonly Suspect[] {
    const { resource, fault, at } = suspect;
    const isRecent = (one: Suspect) => isRefusal(one.fault) || at - one.at < suspectMs;
    this.#keep(owner, (one) => isRecent(one) && (one.resource !== resource || one.fault !== fault));
    const all = [...(this.#suspects.get(owner) ?? []), suspect];
    this.#suspects.set(owner, all);
    return all.filter((one) => one.fault === fault);
  }

  #verdict(
    account: string | undefined,
    fault: BridgeFault,
    suspects: readonly Suspect[],
    now: number,
  ): Verdict {
    const { code } = fault;
    const before = this.#last.get(account);
    const isAgain = before?.fault === code && now - endOfHold(before) < againMs;
    const isAddress = account === undefined && code === 'forbidden';
    const firstMs = isAddress ? this.#circuitMs : (rules[code]?.firstMs ?? 0);
    const blamed = suspects.slice(-maxBlamed).map(({ resource }) => resource);
    const hold = { ...holdAfter(fault, isAgain ? longer(before) : firstMs, now), blamed };
    this.#keep(account, (one) => one.fault !== code);
    this.#last.set(account, hold);
    return { account, hold };
  }
}

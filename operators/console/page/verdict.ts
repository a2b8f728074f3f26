import { sentence } from '../../../shared/findings/sentences.ts';
import { are, count, duration } from '../../operations/figures.ts';
import type { Facts, Finding, Received } from '../snapshot.ts';
import verdicts from './verdicts.json' with { type: 'json' };

export interface Verdict {
  /** How the page's title begins. */
  readonly title: string;
  readonly sentence: string;
  readonly tone: 'well' | 'attention' | 'fault' | 'unknown';
  /** Follows the sentence. */
  readonly command?: string | undefined;
  /** Differs every second, so no screen reader announces it. */
  readonly passing?: string | undefined;
}

/** Of an entry of verdicts.json. */
function verdict(code: keyof typeof verdicts, facts: object, passing?: string): Verdict {
  const { tone, title, says } = verdicts[code];
  const fill = (text: string) => sentence(text, { ...facts });
  return { tone: fill(tone) as Verdict['tone'], title: fill(title), sentence: fill(says), passing };
}

/** Those that need somebody, the worst first, as they are found. */
export const needing = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ severity }) => severity !== 'note');

/** Answers the question that people open the page for: does it work? */
export function verdictOf(received: Received, nowMs: number): Verdict {
  const { snapshot, isCutOff } = received;
  if (isCutOff) return cutOff(received, nowMs);
  if (snapshot?.error) return verdict('not-readable', snapshot);
  if (!snapshot?.facts) return verdict('looking', {});
  const { facts, findings } = snapshot;
  const passing = nextTrial(facts, snapshot.bridge.pollSeconds, nowMs);
  // A bridge that tries again has a sentence of its own below.
  const urgent = needing(findings).filter(({ what }) => what !== 'poll-failed');
  const [worst, ...less] = urgent;
  if (worst && less.length === 0) return verdict('one', worst, passing);
  if (worst) return verdict('several', { ...worst, number: urgent.length, others: less.length }, passing);
  const held = findings.find(({ what }) => ['held', 'rate-limited', 'no-account'].includes(what));
  if (held) return verdict('waiting', held, passing);
  const [trying, ...others] = facts.partnerAccounts.filter(isTrying);
  if (trying) {
    const whose = [trying.name, others.length > 0 && are(others.length, 'other', 'others')];
    const names = whose.filter(Boolean).join(' and ');
    return verdict('trying', { names, reason: trying.reason ?? trying.hold?.fault }, passing);
  }
  const { length } = facts.partnerAccounts;
  const some = length === 2 ? 'both partner accounts' : `all ${count(length)} partner accounts`;
  return verdict('well', { accounts: length === 1 ? 'the partner account' : some });
}

function cutOff({ snapshot, refused }: Received, nowMs: number): Verdict {
  const passing = snapshot && `What you see is ${duration((nowMs - snapshot.at) / 1000)} old.`;
  if (refused !== undefined) return verdict('refused', { refused }, passing);
  return { ...verdict('ended', {}, passing), command: snapshot?.bridge.again };
}

/** Whether the last request for it failed, which its state alone does not say. */
export const isTrying = ({ state, reason, hold }: Facts['partnerAccounts'][number]): boolean =>
  state !== 'stopped' && (reason !== null || hold !== null);

/** When the bridge, or the first account that waits, sends its next request, or is polled again. */
function nextTrial(facts: Facts, pollSeconds: number | null, nowMs: number): string | undefined {
  const { pausedUntil, partnerAccounts, lastDrain } = facts;
  if (pausedUntil !== null) return `The next request is sent ${inTime(pausedUntil, nowMs)}.`;
  const trials = partnerAccounts.flatMap(({ name, nextTrial: at }) => (at ? [{ name, at }] : []));
  const [first] = trials.sort((a, b) => a.at.localeCompare(b.at));
  if (first) return `The next request for ${first.name} is sent ${inTime(first.at, nowMs)}.`;
  const isPolled =
    facts.isRunning !== false && !facts.standstill && facts.paused === null && facts.hold === null;
  if (!isPolled || !partnerAccounts.some(isTrying) || pollSeconds === null || !lastDrain) return undefined;
  const next = Date.parse(lastDrain) + pollSeconds * 1000;
  return `The next poll begins ${inTime(new Date(next).toISOString(), nowMs)}.`;
}

/** `in 12 s`, or `now`. */
export function inTime(until: string, nowMs: number): string {
  const seconds = Math.ceil((Date.parse(until) - nowMs) / 1000);
  return seconds > 0 ? `in ${duration(seconds)}` : 'now';
}

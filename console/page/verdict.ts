import { count, duration } from '../../shared/domain/text/figures.ts';
import type { Facts, Finding, Received } from '../snapshot.ts';

export interface Verdict {
  /** How the page's title begins. */
  readonly title: string;
  readonly sentence: string;
  readonly tone: 'well' | 'attention' | 'fault' | 'unknown';
}

const verdict = (tone: Verdict['tone'], title: string, sentence: string): Verdict => ({
  title,
  sentence,
  tone,
});

/** A single poll that fails is repeated before anybody is told. */
const failingSeconds = 10;
type Account = Facts['partnerAccounts'][number];
const isFailing = ({ state, reason, lagSeconds }: Account): boolean =>
  state === 'polling' && reason !== null && (lagSeconds ?? 0) > failingSeconds;

/** Those that need somebody, the worst first, as they are found. */
export const needing = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ severity }) => severity !== 'note');

/** Answers the question that people open the page for: does it work? */
export function verdictOf({ snapshot, isCutOff }: Received, nowMs: number): Verdict {
  if (isCutOff) {
    const age = snapshot ? ` What you see is ${duration((nowMs - snapshot.at) / 1000)} old.` : '';
    return verdict('fault', 'Cut off', `The console does not answer.${age} It may have ended.`);
  }
  if (snapshot?.error)
    return verdict('fault', 'Not readable', `The bridge cannot be read: ${snapshot.error}`);
  if (!snapshot?.facts) return verdict('unknown', 'Looking', 'Reading the bridge.');
  const { facts, findings } = snapshot;
  const urgent = needing(findings);
  const [worst] = urgent;
  if (worst) {
    const others = urgent.length === 1 ? '' : ` And ${urgent.length - 1} more, below.`;
    const title = urgent.length === 1 ? '1 needs attention' : `${urgent.length} need attention`;
    return verdict(worst.severity === 'fault' ? 'fault' : 'attention', title, worst.says + others);
  }
  if (facts.isRunning === false)
    return verdict('attention', 'Not running', 'No process runs this bridge, so it polls nothing.');
  const held = findings.find(({ what }) => what === 'held' || what === 'rate-limited');
  if (held) return verdict('attention', 'Waiting', held.says);
  // Feeds that cannot be read now: the bridge tries again, and after some time it becomes a finding.
  const failing = facts.partnerAccounts.filter(isFailing);
  const [first] = failing;
  if (first) {
    const title = failing.length === 1 ? '1 feed fails' : `${count(failing.length)} feeds fail`;
    const others = failing.length === 1 ? '' : ` And ${count(failing.length - 1)} more.`;
    const read = `Its feed was last read ${duration(first.lagSeconds ?? 0)} ago. The bridge tries again by itself.`;
    return verdict('attention', title, `${first.name}: ${first.reason}. ${read}${others}`);
  }
  const { length } = facts.partnerAccounts;
  if (length === 0) return verdict('well', 'All well', 'No partner account is connected yet.');
  const accounts = length === 1 ? 'the partner account' : `all ${count(length)} partner accounts`;
  return verdict('well', 'All well', `Changes of ${accounts} are delivered as events.`);
}

import { count, duration } from '../../shared/domain/text/figures.ts';
import type { Finding, Received } from '../snapshot.ts';

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

/** Those that need somebody, the worst first, as they are found. */
export const needing = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ severity }) => severity !== 'note');

/** Answers the question that people open the page for: does it work? */
export function verdictOf({ snapshot, isCutOff, refused }: Received, nowMs: number): Verdict {
  if (isCutOff) {
    const age = snapshot ? ` What you see is ${duration((nowMs - snapshot.at) / 1000)} old.` : '';
    if (refused !== undefined)
      return verdict('fault', 'Cut off', `The console does not know this page.${age} To go on, ${refused}`);
    const how = snapshot ? `start it again: ${snapshot.bridge.again}` : 'start it again';
    return verdict('fault', 'Cut off', `The console does not answer.${age} If it has ended, ${how}`);
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
  const held = findings.find(({ what }) => ['held', 'rate-limited', 'no-account'].includes(what));
  if (held) return verdict('attention', 'Waiting', held.says);
  const { length } = facts.partnerAccounts;
  const accounts = length === 1 ? 'the partner account' : `all ${count(length)} partner accounts`;
  return verdict('well', 'All well', `Changes of ${accounts} are delivered as events.`);
}

import { count, duration } from '../../shared/domain/text/figures.ts';
import type { Facts, Finding, Received } from '../snapshot.ts';

export interface Verdict {
  /** How the page's title begins. */
  readonly title: string;
  readonly sentence: string;
  readonly tone: 'well' | 'attention' | 'fault' | 'unknown';
}

/** A single poll that fails is repeated before anybody is told. */
const failingSeconds = 10;
type Account = Facts['partnerAccounts'][number];
const isFailing = ({ state, reason, lagSeconds }: Account): boolean =>
  state === 'polling' && reason !== null && (lagSeconds ?? 0) > failingSeconds;

/** Feeds that cannot be read now: the bridge tries again, and after some time it becomes a finding. */
function failingText(failing: readonly Account[]): Verdict {
  const [{ name, reason, lagSeconds } = { name: '', reason: '', lagSeconds: null }] = failing;
  const others = failing.length === 1 ? '' : ` And ${count(failing.length - 1)} more.`;
  return {
    title: failing.length === 1 ? '1 feed fails' : `${count(failing.length)} feeds fail`,
    sentence: `${name}: ${reason}. Its feed was last read ${duration(lagSeconds ?? 0)} ago. The bridge tries again by itself.${others}`,
    tone: 'attention',
  };
}

/** Those that need somebody, the worst first. */
export function needing(findings: readonly Finding[]): Finding[] {
  const of = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity);
  return [...of('fault'), ...of('attention')];
}

/** Answers the question that people open the page for: does it work? */
export function verdictOf({ snapshot, isCutOff }: Received, nowMs: number): Verdict {
  if (isCutOff) {
    const age = snapshot ? ` What you see is ${duration((nowMs - snapshot.at) / 1000)} old.` : '';
    return {
      title: 'Cut off',
      sentence: `The console does not answer.${age} It may have ended.`,
      tone: 'fault',
    };
  }
  if (snapshot?.error) {
    return { title: 'Not readable', sentence: `The bridge cannot be read: ${snapshot.error}`, tone: 'fault' };
  }
  if (!snapshot?.facts) return { title: 'Looking', sentence: 'Reading the bridge.', tone: 'unknown' };
  const { facts, findings } = snapshot;
  const urgent = needing(findings);
  const [worst] = urgent;
  if (worst) {
    const others = urgent.length === 1 ? '' : ` And ${urgent.length - 1} more, below.`;
    const title = urgent.length === 1 ? '1 needs attention' : `${urgent.length} need attention`;
    return {
      title,
      sentence: worst.says + others,
      tone: worst.severity === 'fault' ? 'fault' : 'attention',
    };
  }
  if (facts.isRunning === false) {
    return {
      title: 'Not running',
      sentence: 'No process runs this bridge, so it polls nothing.',
      tone: 'attention',
    };
  }
  const held = findings.find(({ what }) => what === 'held' || what === 'rate-limited');
  if (held) return { title: 'Waiting', sentence: held.says, tone: 'attention' };
  const failing = facts.partnerAccounts.filter(isFailing);
  if (failing.length > 0) return failingText(failing);
  const { length } = facts.partnerAccounts;
  if (length === 0)
    return { title: 'All well', sentence: 'No partner account is connected yet.', tone: 'well' };
  const accounts = length === 1 ? 'the partner account' : `all ${count(length)} partner accounts`;
  return { title: 'All well', sentence: `Changes of ${accounts} are delivered as events.`, tone: 'well' };
}

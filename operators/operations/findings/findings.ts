/**
 * What is wrong, found once from the facts of `status`: `status`, `doctor` and the console show the same findings. A look
 * finds facts; problems.json has for each code what it means, what to say of the facts, and what to do.
 */
import { lateAfterSeconds, maxLagSeconds } from '../../../shared/contract/names.ts';
import type { FaultKind } from '../../../shared/domain/faults.ts';
import { type Finding, type FindingOptions, type Found, maxNames } from '../../../shared/findings/finding.ts';
import problems from '../../../shared/findings/problems.json' with { type: 'json' };
import { type Mends, type Remedy, remedied, sentence } from '../../../shared/findings/sentences.ts';
import { namesText, type Problem } from '../errors.ts';
import { duration } from '../figures.ts';
import type { RaisedAlarm, ResourceFault, Status } from '../printed.ts';
import { accountFacts, looks, resourceFound } from './looks.ts';

export type { Finding };

/** An entry of problems.json. */
interface Entry extends Pick<Finding, 'severity' | 'says'> {
  /** Default: the account that it is about, or nothing. */
  readonly stops?: Finding['stops'];
  readonly runbook?: NonNullable<Finding['runbook']>;
  readonly advice?: string;
  readonly command?: Remedy;
  readonly page?: string;
  /** Which fact of the account says since when. */
  readonly since?: 'hold' | 'paused' | 'failing' | 'lastSuccess';
}
/** By code; a code that has the entry of another one has its name. */
type Entries = Readonly<Record<string, Entry | string>>;
const {
  bridge,
  alarm,
  account: ofAccounts,
} = problems as unknown as Readonly<Record<'bridge' | 'alarm' | 'account', Entries>>;

/** All findings: the worst first, those of the whole bridge before those of one partner account. */
export function findingsOf(status: Status, options: FindingOptions): Finding[] {
  const ofBridge = Object.entries(looks).flatMap(([what, look]) =>
    [look(status, options) || []].flat().map((found) => bridgeFinding(what, found, options)),
  );
  const ofAlarms = (status.alarms ?? []).map((one) => alarmFinding(one, options));
  const ofEach = status.partnerAccounts.flatMap((account) =>
    account.attention.map((what) => {
      const facts = accountFacts(account, what, options);
      const entry = entryIn(ofAccounts, what);
      const from =
        entry.since === 'lastSuccess' ? account.lastSuccess : entry.since && account[entry.since]?.since;
      const found = { ...facts, what, since: from ?? null, partnerAccount: account.name };
      return finding({ stops: 'account', ...entry, says: `{name}: ${entry.says}.` }, found, options);
    }),
  );
  const rank = { fault: 0, attention: 1, note: 2 };
  return [...ofBridge, ...ofAlarms, ...ofEach].sort((a, b) => rank[a.severity] - rank[b.severity]);
}

function entryIn(entries: Entries, code: string | undefined): Entry {
  const entry = Object.hasOwn(entries, code ?? '') ? entries[code ?? ''] : entries.unknown;
  return typeof entry === 'string' ? entryIn(entries, entry) : (entry as Entry);
}

const bridgeFinding = (what: string, found: Found, options: Mends): Finding =>
  finding(entryIn(bridge, found.entry ?? found.what ?? what), { what, ...found }, options);

export const resourceFinding = (fault: ResourceFault, mends: Mends): Finding =>
  bridgeFinding(fault.of, resourceFound(fault), mends);

/** What an alarm does not say here is in its section of the runbook. */
export function alarmFinding({ name, since }: RaisedAlarm, mends: Mends): Finding {
  const entry = entryIn(alarm, name);
  const [lag, late] = [maxLagSeconds, lateAfterSeconds].map(duration);
  const facts = { what: 'alarm', name, since, lag, late };
  return finding({ ...entry, says: `The alarm {name} is raised. ${entry.says}` }, facts, mends);
}

function finding(entry: Entry, found: Found, mends: Mends): Finding {
  const { what = '', partnerAccount = null, since = null, severity = entry.severity } = found;
  return {
    what,
    partnerAccount,
    since,
    severity,
    stops: found.stops ?? entry.stops ?? 'nothing',
    says: sentence(entry.says, found, mends.command),
    advice: remedied(entry.advice, found, mends),
    mend: entry.page ?? remedied(entry.command, found, mends),
    page: entry.page ?? null,
    runbook: found.runbook ?? entry.runbook ?? null,
  };
}

const { verdicts, exceptions } = problems.delivery;

interface Delivery {
  readonly how: keyof typeof verdicts;
  readonly says: string;
}

const verdict = (how: Delivery['how'], facts: object): Delivery => ({
  how,
  says: sentence(verdicts[how], { ...facts }),
});

/** The first line of `status`: does it deliver? */
export function deliveryVerdict({ partnerAccounts }: Status, findings: readonly Finding[]): Delivery {
  const stopping = findings.filter(({ stops }) => stops === 'account');
  const hit = [...new Set(stopping.flatMap(({ partnerAccount }) => partnerAccount ?? []))];
  // What was disconnected on purpose is not missed.
  const connected = partnerAccounts.filter(({ reason }) => reason !== 'disconnected');
  const [ofAll] = hit.length === connected.length ? stopping : [];
  const cause = findings.find(({ stops }) => stops === 'all') ?? ofAll;
  if (cause) return verdict('not', cause);
  const delayed = findings.filter(({ stops }) => stops === 'late');
  const late = delayed.find(({ partnerAccount }) => partnerAccount === null) ?? delayed[0];
  if (late) return verdict('late', late);
  // The hold of an account that has just begun is no finding yet.
  const tried = partnerAccounts.filter(
    ({ name, hold, attention }) => (hold || attention.includes('poll-failed')) && !hit.includes(name),
  );
  const failed = tried.map(({ name }) => name);
  const found = new Set<string>(findings.map(({ stops }) => stops));
  if (failed.length > 0) found.add('requests');
  const facts = { stopped: namesText(hit, maxNames), failed: namesText(failed, maxNames) };
  const parts = Object.entries(exceptions).flatMap(([stops, says]) =>
    found.has(stops) ? [sentence(says, facts)] : [],
  );
  return parts.length === 0
    ? verdict('delivering', {})
    : verdict('partly', { exceptions: parts.join(', and ') });
}

/** What to do, with the command in backticks, or the section of the runbook; empty when it ends by itself. */
export function mendText({ advice, mend, page, runbook }: Partial<Finding>): string {
  if (!mend) return advice ?? (runbook ? `${runbookPage}#${runbook}` : '');
  const shown = page ?? `\`${mend}\``;
  return advice ? `${advice} ${shown}` : shown;
}

/** What a fault of an account means for a command, and its remedy; undefined for other faults. */
export function faultProblem(kind: FaultKind, reason: string, options: Mends): Problem | undefined {
  if (!Object.hasOwn(ofAccounts, kind)) return undefined;
  const facts = accountFacts({ name: 'NAME', reason }, kind, options);
  const entry = entryIn(ofAccounts, kind);
  const why = entry.says.includes('{reason}') ? '' : ' ({reason})';
  const found = finding({ ...entry, says: `${entry.says}${why}` }, facts, options);
  return [found.says, mendText(found)];
}

export const runbookPage = 'docs/operate/runbook.md';

export const leavesWork = (findings: readonly Finding[]): boolean =>
  findings.some(({ severity }) => severity !== 'note');

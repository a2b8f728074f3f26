import { DatabaseSync } from 'node:sqlite';
import { stateFileIn } from '../../embedded/state/file/private-folder.ts';
import type { Status } from '../../operators/operations/printed.ts';
import { checked } from '../../shared/contract/checks.ts';
import { type AdvertEvent, envelope } from '../../shared/contract/events.ts';
import type { ChaosBridge, Ended } from './bridge.ts';
import { checkHistories, type Line } from './check-histories.ts';

export interface Verdict {
  readonly faults: readonly string[];
  /** One line for a person. */
  readonly summary: string;
}

/**
 * Checks everything that must hold once every change is delivered: histories, books, secrets.
 *
 * @param options.stops accounts were stopped: the caller has checked the events that say so
 */
export async function checkBridge(
  bridge: ChaosBridge,
  touched: ReadonlySet<string>,
  { stops = false } = {},
): Promise<Verdict> {
  const { runs, service, dir, secrets } = bridge;
  const faults: string[] = [];
  const lines = runs.flatMap((end, run) => linesOf(end, run, { faults, stops }));
  const histories = checkHistories(lines, service.control.truth(), touched);
  const status = await bridge.status();
  const output = runs.map(({ stdout, stderr }) => stdout + stderr).join('\n') + JSON.stringify(status);
  const books = status.partnerAccounts.map(({ name, books: b }) => `${name} ${JSON.stringify(b)}`);
  return {
    faults: [
      ...faults,
      ...histories.faults,
      ...checkBooks(status, histories.events),
      ...checkFile(dir),
      ...checkSecrets(output, secrets),
    ],
    summary:
      `${histories.distinct} events of ${touched.size} adverts, ${histories.repeats} repeated lines` +
      `\n  books: ${books.join('\n         ')}`,
  };
}

/** The events that a run has written. A run that was killed may end within a line. */
function linesOf(
  { stdout, exitCode }: Ended,
  run: number,
  { faults, stops }: { readonly faults: string[]; readonly stops: boolean },
): Line[] {
  const texts = stdout.split('\n');
  if (texts.pop() !== '' && exitCode !== null)
    faults.push(`run ${run} was not killed, yet its output ends within a line`);
  return texts.flatMap((text) => {
    try {
      const event = checked(envelope, JSON.parse(text), 'event line');
      if ('advertId' in event.detail.data) return [{ run, text, event: event as AdvertEvent }];
      if (!stops) faults.push(`run ${run}: an event that nobody expects: ${text}`);
    } catch (error) {
      faults.push(`run ${run}: ${(error as Error).message}: ${text}`);
    }
    return [];
  });
}

function checkBooks({ partnerAccounts, queue }: Status, events: ReadonlyMap<string, number>): string[] {
  const faults: string[] = [];
  if (queue.waiting > 0 || queue.deadLetters > 0) faults.push(`the queue: ${JSON.stringify(queue)}`);
  for (const { name, state, reason, books } of partnerAccounts) {
    const { listed, inFlight, deadLettered } = books;
    const settled = books.events + books.unchanged + books.coalesced + books.unavailable;
    const told = events.get(name) ?? 0;
    const flaws = [
      ...(listed === settled + deadLettered + inFlight ? [] : ['the books do not balance']),
      ...(inFlight === 0 ? [] : ['in flight, though idle']),
      ...(deadLettered === 0 ? [] : ['dead-lettered']),
      ...(state === 'polling' ? [] : [`${state}: ${reason}`]),
      // The subscriber may have more events than the books: a run that died after an event repeats it, and may publish
      // another event for the same listed ID.
      ...(books.events + books.unavailable <= told ? [] : [`the subscriber has ${told} different events`]),
    ];
    if (flaws.length > 0) faults.push(`${name}: ${flaws.join('; ')}: ${JSON.stringify(books)}`);
  }
  return faults;
}

/** Checks that the state file is intact. */
function checkFile(dir: string): string[] {
  const db = new DatabaseSync(stateFileIn(dir), { readOnly: true });
  const rows = db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[];
  db.close();
  const flaws = rows.map(({ integrity_check: flaw }) => flaw).filter((flaw) => flaw !== 'ok');
  return flaws.map((flaw) => `the state file: ${flaw}`);
}

/** The sandbox's tokens and codes are 40 letters and digits; nothing else that the bridge writes looks like this. */
const tokenLike = /[A-Za-z0-9]{40,}/;

function checkSecrets(output: string, secrets: readonly string[]): string[] {
  const found = [...secrets.filter((secret) => output.includes(secret)), ...(tokenLike.exec(output) ?? [])];
  return found.map((secret) => `the output holds what looks like a secret: ${secret.slice(0, 8)}…`);
}

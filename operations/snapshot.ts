/** Sends the latest event of every advert, as it was recorded, to one subscriber. */
import type { EmbeddedState } from '../shared/sqlite/state.ts';
import type { PublishedAdverts } from '../shared/state/advert-histories.ts';
import type { PartnerAccounts } from '../shared/state/partner-accounts.ts';
import type { Bridge } from './bridge.ts';
import { accountsBeside, CommandError, unknownAccount } from './errors.ts';

export interface SnapshotOptions {
  /** Sends only the events of this partner account. Undefined: all accounts. */
  readonly name: string | undefined;
  readonly signal: AbortSignal;
  /** Called with the number of events sent so far. */
  readonly onSent: (sent: number) => void;
}

type SnapshotBridge = Pick<Bridge, 'partnerAccounts' | 'advertHistories'>;

/** The current generation of each selected partner account: events of earlier generations are not sent. */
async function generationsOf(
  accounts: Pick<PartnerAccounts, 'list'>,
  name: string | undefined,
): Promise<ReadonlyMap<string, number>> {
  // Of all accounts none may be missing: what a subscriber is not sent, it does not know to be missing.
  const all = await (name === undefined ? accounts.list() : accountsBeside(accounts, name));
  const meant = all.filter((account) => name === undefined || account.name === name);
  if (name !== undefined && meant.length === 0) throw unknownAccount(all);
  return new Map(meant.map((account) => [account.name, account.generation]));
}

/** Reads the latest recorded event of every advert, a page at a time. */
async function* latestEvents(
  histories: PublishedAdverts,
  generations: ReadonlyMap<string, number>,
): AsyncGenerator<readonly string[]> {
  for (const [partnerAccount, generation] of generations) {
    for (let from: string | undefined, isOver = false; !isOver; isOver = from === undefined) {
      const { envelopes, next } = await histories.page({ partnerAccount, generation }, from);
      if (envelopes.length > 0) yield envelopes;
      from = next;
    }
  }
}

/**
 * Sends the events to a subscriber. Can be repeated: it sends the same events.
 *
 * @param send returns how many were not accepted
 * @returns how many were sent
 */
export async function snapshot(
  { partnerAccounts, advertHistories }: SnapshotBridge,
  send: (envelopes: readonly string[]) => Promise<number>,
  { name, signal, onSent }: SnapshotOptions,
): Promise<number> {
  const generations = await generationsOf(partnerAccounts, name);
  let sent = 0;
  for await (const events of latestEvents(advertHistories, generations)) {
    if (signal.aborted) break;
    const refused = await send(events);
    if (refused > 0) {
      throw new CommandError(
        `${refused} of ${events.length} events were not accepted, after ${sent} that were. Run the command again: ` +
          'the events are the same, and one that is sent twice has the same eventId',
      );
    }
    sent += events.length;
    onSent(sent);
  }
  return sent;
}

/** Appends the events to the event log for a webhook alone; a run sends them. @returns how many were appended */
export async function snapshotToWebhook(
  state: EmbeddedState,
  webhook: string,
  { name, signal, onSent }: SnapshotOptions,
): Promise<number> {
  let sent = 0;
  for (const [partnerAccount, generation] of await generationsOf(state.partnerAccounts, name)) {
    const history = `${partnerAccount}/${generation}`;
    for (let after: string | undefined; !signal.aborted; ) {
      const page = await state.eventLog.appendLatest(webhook, history, after);
      if (!page) break;
      after = page.after;
      sent += page.added;
      onSent(sent);
    }
  }
  return sent;
}

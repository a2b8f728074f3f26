/** Sends the latest event of every advert, as it was recorded, to one subscriber. */
import type { BackfillKey } from '../shared/state/progress.ts';
import { publishedPages } from './advert-sources.ts';
import type { Bridge } from './bridge.ts';
import { CommandError, knownAccount } from './errors.ts';

export interface SnapshotOptions {
  /** Sends only the events of this partner account. Undefined: all accounts. */
  readonly name: string | undefined;
  readonly signal: AbortSignal;
  readonly onSent: (sent: number) => void;
}

/** Sends a generation's events page by page. Yields how many each page had, and how many of them were not accepted. */
export type SendPages = (of: BackfillKey) => AsyncGenerator<{ events: number; refused?: number }>;

/** Sends the events of the current generations. Can be repeated: they are the same. @returns how many */
export async function snapshot(
  { partnerAccounts: accounts }: Pick<Bridge, 'partnerAccounts'>,
  sendPages: SendPages,
  { name, signal, onSent }: SnapshotOptions,
): Promise<number> {
  // Of all accounts none may be missing: what a subscriber is not sent, it does not know to be missing.
  const meant = name === undefined ? await accounts.list() : [await knownAccount(accounts, name)];
  let sent = 0;
  for (const { name: partnerAccount, generation } of meant) {
    for await (const { events, refused = 0 } of sendPages({ partnerAccount, generation })) {
      if (refused > 0) {
        throw new CommandError(
          `${refused} of ${events} events were not accepted, after ${sent} that were. Run the command again: ` +
            'the events are the same, and one that is sent twice has the same eventId',
        );
      }
      sent += events;
      onSent(sent);
      if (signal.aborted) return sent;
    }
  }
  return sent;
}

/** @param send returns how many were not accepted */
export const recordedPages = (
  { advertHistories }: Pick<Bridge, 'advertHistories'>,
  send: (envelopes: readonly string[]) => Promise<number>,
): SendPages =>
  async function* (of) {
    for await (const { envelopes } of publishedPages(advertHistories, of))
      yield { events: envelopes.length, refused: envelopes.length === 0 ? 0 : await send(envelopes) };
  };

/** Sends the latest event of every advert, as it was recorded, to one subscriber. */
import type { EmbeddedState } from '../shared/sqlite/state.ts';
import type { BackfillKey } from '../shared/state/progress.ts';
import { publishedPages } from './advert-sources.ts';
import type { Bridge } from './bridge.ts';
import { accountsBeside, CommandError, unknownAccount } from './errors.ts';

export interface SnapshotOptions {
  /** Sends only the events of this partner account. Undefined: all accounts. */
  readonly name: string | undefined;
  readonly signal: AbortSignal;
  readonly onSent: (sent: number) => void;
}

/** Sends the events of the current generations. @param pages yields how many events each page of one generation has */
async function sendAll(
  { partnerAccounts: accounts }: Pick<Bridge, 'partnerAccounts'>,
  { name, signal, onSent }: SnapshotOptions,
  pages: (of: BackfillKey) => AsyncGenerator<number>,
): Promise<number> {
  // Of all accounts none may be missing: what a subscriber is not sent, it does not know to be missing.
  const all = await (name === undefined ? accounts.list() : accountsBeside(accounts, name));
  const meant = all.filter((account) => name === undefined || account.name === name);
  if (name !== undefined && meant.length === 0) throw unknownAccount(all);
  let sent = 0;
  for (const { name: partnerAccount, generation } of meant) {
    const sending = pages({ partnerAccount, generation });
    while (!signal.aborted) {
      const page = await sending.next();
      if (page.done) break;
      sent += page.value;
      onSent(sent);
    }
  }
  return sent;
}

/** Can be repeated: it sends the same events. @param send returns how many were not accepted */
export async function snapshot(
  bridge: Pick<Bridge, 'partnerAccounts' | 'advertHistories'>,
  send: (envelopes: readonly string[]) => Promise<number>,
  options: SnapshotOptions,
): Promise<number> {
  let sent = 0;
  return sendAll(bridge, options, async function* (of) {
    for await (const { envelopes } of publishedPages(bridge.advertHistories, of)) {
      const refused = envelopes.length === 0 ? 0 : await send(envelopes);
      if (refused > 0) {
        throw new CommandError(
          `${refused} of ${envelopes.length} events were not accepted, after ${sent} that were. Run the command again: ` +
            'the events are the same, and one that is sent twice has the same eventId',
        );
      }
      sent += envelopes.length;
      yield envelopes.length;
    }
  });
}

export const snapshotToWebhook = (
  state: EmbeddedState,
  webhook: string,
  options: SnapshotOptions,
): Promise<number> =>
  sendAll(state, options, async function* ({ partnerAccount, generation }) {
    for (let after: string | undefined; ; ) {
      const page = await state.eventLog.appendLatest(webhook, `${partnerAccount}/${generation}`, after);
      if (!page) return;
      after = page.after;
      yield page.added;
    }
  });

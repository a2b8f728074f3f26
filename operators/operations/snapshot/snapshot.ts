/** Sends the latest event of every advert, as it was recorded, to one subscriber. */
import type { BackfillKey } from '../../../shared/state/progress.ts';
import type { Bridge } from '../bridge.ts';
import { failed, knownAccount } from '../errors.ts';

export interface SnapshotOptions {
  /** Sends only the events of this partner account. Undefined: all accounts. */
  readonly name: string | undefined;
  readonly signal: AbortSignal;
  readonly onSent: (sent: number) => void;
}

/** Sends a page of a generation's events. @param from `next` of the page before; absent after the last one */
export type SendPage = (
  of: BackfillKey,
  from?: string,
) => Promise<{ readonly events: number; readonly refused?: number; readonly next?: string | undefined }>;

/** Sends the events of the current generations. Can be repeated: they are the same. @returns how many */
export async function snapshot(
  { partnerAccounts }: Pick<Bridge, 'partnerAccounts'>,
  sendPage: SendPage,
  { name, signal, onSent }: SnapshotOptions,
): Promise<number> {
  // Of all accounts none may be missing: what a subscriber is not sent, it does not know to be missing.
  const meant =
    name === undefined ? await partnerAccounts.list() : [await knownAccount(partnerAccounts, name)];
  let sent = 0;
  for (const { name: partnerAccount, generation } of meant) {
    for (let from: string | undefined, isOver = false; !isOver; isOver = from === undefined) {
      const { events, refused = 0, next } = await sendPage({ partnerAccount, generation }, from);
      if (refused > 0) throw failed('not-accepted', { refused, events, sent });
      from = next;
      sent += events;
      onSent(sent);
      if (signal.aborted) return sent;
    }
  }
  return sent;
}

/** @param send returns how many were not accepted */
export const recordedPage =
  (
    { advertHistories }: Pick<Bridge, 'advertHistories'>,
    send: (envelopes: readonly string[]) => Promise<number>,
  ): SendPage =>
  async (of, from) => {
    const { envelopes, next } = await advertHistories.page(of, from);
    return { events: envelopes.length, refused: envelopes.length === 0 ? 0 : await send(envelopes), next };
  };

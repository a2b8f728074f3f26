/** Sends every advert's latest event, as it was recorded, to one subscriber. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { dynamoDbClient } from '../shared/aws/clients.ts';
import { latestEvents } from '../shared/aws/latest-events.ts';
import { createPartnerAccounts } from '../shared/aws/partner-accounts.ts';
import { linesOf } from '../shared/domain/text/printable-lines.ts';
import type { PartnerAccounts } from '../shared/ports/partner-accounts.ts';
import type { EmbeddedState } from '../shared/sqlite/state.ts';
import { CommandError } from './errors.ts';
import { openTarget } from './snapshot-target.ts';
import { readStackOutputs } from './stack-outputs.ts';
import { unknownAccount } from './unknown-account.ts';

export interface SnapshotOptions {
  /** Only this partner account's. */
  readonly name: string | undefined;
  readonly signal: AbortSignal;
  /** Told how many were sent so far. */
  readonly onSent: (sent: number) => void;
}

/** The generation of each partner account meant: events of forgotten ones are nobody's any more. */
async function generationsOf(
  accounts: Pick<PartnerAccounts, 'list'>,
  name: string | undefined,
): Promise<ReadonlyMap<string, number>> {
  const all = await accounts.list();
  const meant = all.filter((account) => name === undefined || account.name === name);
  if (name !== undefined && meant.length === 0) throw unknownAccount(all.map((account) => account.name));
  return new Map(meant.map((account) => [account.name, account.generation]));
}

/**
 * From a stack to a queue or bus. May be done again: the events are the same.
 *
 * @returns how many were sent
 */
export async function snapshotStack(stack: string, to: string, options: SnapshotOptions): Promise<number> {
  const outputs = await readStackOutputs(stack);
  const client = dynamoDbClient();
  const target = await openTarget(to, outputs);
  try {
    const accounts = createPartnerAccounts({ client, name: outputs.feedStateTableName });
    const generations = await generationsOf(accounts, options.name);
    let sent = 0;
    for await (const events of latestEvents({ client, name: outputs.advertStatusTableName }, generations)) {
      if (options.signal.aborted) break;
      const refused = await target.send(events);
      if (refused > 0) {
        throw new CommandError(
          `${refused} of ${events.length} events were not accepted, after ${sent} that were. Do the same again: ` +
            'they are the same events, and what was sent twice has the same eventId',
        );
      }
      sent += events.length;
      options.onSent(sent);
    }
    return sent;
  } finally {
    target.close();
    client.destroy();
  }
}

/** From an embedded bridge to standard output, one event a line. */
export async function snapshotToLines(
  state: EmbeddedState,
  output: Writable,
  { name, signal, onSent }: SnapshotOptions,
): Promise<number> {
  let sent = 0;
  const readerGone = new AbortController();
  output.once('error', () => readerGone.abort());
  const over = AbortSignal.any([signal, readerGone.signal]);
  for (const [partnerAccount, generation] of await generationsOf(state.partnerAccounts, name)) {
    for await (const events of state.advertHistories.latest({ partnerAccount, generation })) {
      if (over.aborted) return sent;
      if (events.length === 0) continue;
      if (!output.write(linesOf(events))) {
        await once(output, 'drain', { signal: over }).catch(() => undefined);
      }
      sent += events.length;
      onSent(sent);
    }
  }
  return sent;
}

/** From an embedded bridge into the outbox of a webhook, from where a run sends them. */
export async function snapshotToOutbox(
  state: EmbeddedState,
  webhook: string,
  { name, signal, onSent }: SnapshotOptions,
): Promise<number> {
  let sent = 0;
  for (const [partnerAccount, generation] of await generationsOf(state.partnerAccounts, name)) {
    const history = `${partnerAccount}/${generation}`;
    for (let after: string | undefined; !signal.aborted; ) {
      const page = await state.outbox.addLatest(webhook, history, after);
      if (!page) break;
      after = page.after;
      sent += page.added;
      onSent(sent);
    }
  }
  return sent;
}

import { stopOf } from '../shared/domain/partner-account.ts';
import type { EmbeddedState } from '../shared/sqlite/state.ts';

type State = Pick<EmbeddedState, 'partnerAccounts' | 'queue' | 'bookKeeper'>;

/** How many messages wait for partner accounts that are stopped: a run does not wait for them. */
export async function messagesOfStopped({ partnerAccounts, queue }: State): Promise<number> {
  const accounts = await partnerAccounts.list(() => undefined);
  const depths = await Promise.all(accounts.filter(stopOf).map(({ name }) => queue.depth(name)));
  return depths.reduce((sum, depth) => sum + depth, 0);
}

/** Whether a person has to act: because of a dead letter, a stopped partner account, or one whose row is unreadable. */
export async function needsPerson({ partnerAccounts, bookKeeper }: State): Promise<boolean> {
  let unreadable = 0;
  const accounts = await partnerAccounts.list(() => {
    unreadable += 1;
  });
  const stops = accounts.map(stopOf);
  const { deadLetters } = await bookKeeper.queue();
  return unreadable > 0 || deadLetters > 0 || stops.some((stop) => stop && stop.reason !== 'disconnected');
}

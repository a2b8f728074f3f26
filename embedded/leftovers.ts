import { operatorPauseOf } from '../shared/domain/operator-pause.ts';
import { stopOf } from '../shared/domain/partner-account.ts';
import type { EmbeddedState } from '../shared/sqlite/state.ts';

type State = Pick<EmbeddedState, 'partnerAccounts' | 'feedStates' | 'queue' | 'bookKeeper' | 'budgetStore'>;

/**
 * Number of messages that a run does not wait for: those of partner accounts that are stopped or paused by an
 * operator.
 */
export async function messagesForPerson(
  { partnerAccounts, queue, budgetStore }: State,
  nowMs: number,
): Promise<number> {
  const accounts = await partnerAccounts.list(() => undefined);
  const isBridgePaused = operatorPauseOf(await budgetStore.read(), nowMs) !== undefined;
  const resting = accounts.filter(
    (account) => isBridgePaused || stopOf(account) || operatorPauseOf(account, nowMs),
  );
  const depths = await Promise.all(resting.map(({ name }) => queue.depth(name)));
  return depths.reduce((sum, depth) => sum + depth, 0);
}

/**
 * Whether a person has to act: because of a dead letter, an operator's pause, a stopped partner account, or one whose
 * row, or feed's row, is unreadable.
 */
export async function needsPerson(
  { partnerAccounts, feedStates, bookKeeper, budgetStore }: State,
  nowMs: number,
): Promise<boolean> {
  let unreadable = 0;
  const countUnreadable = () => {
    unreadable += 1;
  };
  const accounts = await partnerAccounts.list(countUnreadable);
  await feedStates.list(countUnreadable);
  const stops = accounts.map(stopOf);
  const isPaused = [await budgetStore.read(), ...accounts].some((one) => operatorPauseOf(one, nowMs));
  const { deadLetters } = await bookKeeper.queue();
  return (
    unreadable > 0 ||
    deadLetters > 0 ||
    isPaused ||
    stops.some((stop) => stop && stop.reason !== 'disconnected')
  );
}

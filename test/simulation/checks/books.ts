/** Checks `books-balance`, and that the books agree with what was really listed. */
import type { Listing } from '../model/history.ts';
import { secretMark } from '../model/token-desk.ts';
import type { SimWorld } from '../world/sim-world.ts';

export async function checkBooks({ state, history, plan }: SimWorld): Promise<void> {
  const violated = (message: string) => history.violated({ invariant: 'books-balance', message });
  for (const { name, generation, forgetting } of await state.partnerAccounts.list()) {
    const books = await state.bookKeeper.read(name, generation);
    const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
    const sum = events + unchanged + coalesced + unavailable + deadLettered + inFlight;
    if (sum !== listed)
      violated(`books of ${name}: listed ${listed}, but ${sum} accounted for ${JSON.stringify(books)}`);
    const isOwn = (one: Listing) => one.account === name && one.generation === generation;
    const accepted = [...history.listings.values()].filter(isOwn).length;
    // A message that is in the queue and aside, because a process ended in between, is listed twice. While an account is
    // being forgotten, its messages leave both the books and the queue.
    if (listed < accepted && !forgetting)
      violated(`listed ${listed} of ${name}, but ${accepted} were accepted`);
  }
  const deadLetters = await state.deadLetters.list();
  if (plan.seed % 8 === 0 && JSON.stringify(deadLetters).includes(secretMark)) {
    history.violated({ invariant: 'credentials-kept', message: 'a dead letter holds a secret' });
  }
}

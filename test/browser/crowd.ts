import { openEmbeddedState } from '../../shared/sqlite/state.ts';
import { changedAdvert, deadLetter, feedState, partnerAccount } from '../helpers/records.ts';

export const crowdSize = { accounts: 1_000, deadLetters: 10_000 };
/** As long as a name may be. */
export const longName = `a${'-very-long-name'.repeat(5)}`.slice(0, 64);
/** Markup, a control character, and one that turns the direction of writing. */
const hostileText = '<img src=x onerror=alert(1)> \u0007 \u202ereversed';

const atOnce = 1_000;

/** Fills a folder with the state of many partner accounts, and of many dead letters of one of them. */
export async function makeCrowd(dir: string): Promise<void> {
  const state = openEmbeddedState(dir);
  const names = Array.from({ length: crowdSize.accounts - 1 }, (_, index) => `account-${index}`);
  for (const name of [longName, ...names]) {
    await state.partnerAccounts.add(partnerAccount({ name }));
    await state.feedStates.register(feedState({ partnerAccount: name }));
  }
  for (let from = 0; from < crowdSize.deadLetters; from += atOnce) {
    const adverts = Array.from({ length: atOnce }, (_, index) => String(100_000 + from + index));
    const messages = adverts.map((advertId) => changedAdvert({ partnerAccount: 'account-7', advertId }));
    await state.queue.send(messages);
    const received = await state.queue.receive({ maxGroups: atOnce, maxPerGroup: 1, visibilityMs: 60_000 });
    const settlements = received.map((delivery) => {
      const { message } = delivery;
      if (!message) throw new Error('a message without content');
      const { partnerAccount: name, advertId } = message;
      const reason = Number(advertId) % 2 === 0 ? 'the answer has no status' : hostileText;
      const letter = deadLetter({ partnerAccount: name, advertId, reason, message });
      return { delivery, verdict: { kind: 'dead-letter', letter } as const };
    });
    await state.queue.settle(settlements);
  }
  state.close();
}

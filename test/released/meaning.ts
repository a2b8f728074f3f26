import type { FeedName } from '../../shared/contract/feeds.ts';
import { accountNames } from './life.ts';
import type { Store } from './stores.ts';

const feeds: readonly FeedName[] = ['adverts', 'orders'];
/** Every ID that the life of a bridge names, and one that it does not. */
export const ids = ['7', '8', '9', '10', '11', '12', '13', '14', '15', '16'];

/** All that a bridge reads from what it has stored, as values that can be compared. */
export async function meaningOf({ state, letters }: Store) {
  const accounts = await state.partnerAccounts.list();
  const each = async <T>(read: (name: string, generation: number) => Promise<T>) =>
    Object.fromEntries(
      await Promise.all(
        accounts.map(async ({ name, generation }) => [name, await read(name, generation)] as const),
      ),
    );
  const ofFeeds = async <T>(read: (feed: FeedName) => Promise<T>) =>
    Object.fromEntries(await Promise.all(feeds.map(async (feed) => [feed, await read(feed)] as const)));
  const application = await state.applicationSecret.read();
  const meaning = {
    accounts: accounts.sort(
      (a, b) => accountNames.indexOf(a.name as never) - accountNames.indexOf(b.name as never),
    ),
    feeds: (await state.feedStates.list()).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
    histories: await each((partnerAccount, generation) =>
      ofFeeds(async (feed) => {
        const rows = ids.map((advertId) =>
          state.advertHistories.read({ partnerAccount, generation, feed, advertId }),
        );
        return await Promise.all(rows);
      }),
    ),
    books: await each((name, generation) => ofFeeds((feed) => state.bookKeeper.read(name, generation, feed))),
    queue: await state.bookKeeper.queue(),
    letters: [
      ...new Set(
        (await letters()).map(
          ({ partnerAccount, advertId, fault }) => `${partnerAccount} ${advertId} ${fault}`,
        ),
      ),
    ].sort(),
    tokens: await each(async (name) => {
      const stored = await state.vault.read(name);
      return (
        stored && {
          ...stored.pair,
          accessToken: stored.pair.accessToken.reveal(),
          refreshToken: stored.pair.refreshToken.reveal(),
        }
      );
    }),
    application: { clientId: application.clientId.reveal(), clientSecret: application.clientSecret.reveal() },
    budget: await state.budgetStore.read(),
    audits: await each((partnerAccount, generation) => state.audits.read({ partnerAccount, generation })),
    backfills: await each((partnerAccount, generation) =>
      state.backfills.read({ partnerAccount, generation }),
    ),
  };
  return JSON.parse(JSON.stringify(meaning)) as typeof meaning;
}

const nameOf = ({ partnerAccount, feed }: { partnerAccount: string; feed: string }) =>
  `${partnerAccount}/${feed}`;

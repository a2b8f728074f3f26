/** The adverts of an account that fail while others are answered: each waits by itself, and says nothing of the others. */
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { FaultKind } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { AdvertHistories, AdvertRow } from '../../shared/state/advert-histories.ts';
import type { Aside } from '../../shared/state/aside.ts';
import type { FailingAdverts } from './printed.ts';

/** Of an account, so many rows are read, and the histories of those that have failed for the longest. */
const [readAtMost, lookedUpAtMost] = [100, 10];
/** What fails for a shorter time is no finding: most repeats succeed, and a deletion is confirmed by then. */
const failingMs = 2 * 60_000;

/** @returns null if none has failed for two minutes */
export async function readFailingAdverts(
  {
    aside,
    advertHistories,
  }: { readonly aside: Pick<Aside, 'failed'>; readonly advertHistories: Pick<AdvertHistories, 'read'> },
  { name, generation }: Pick<PartnerAccount, 'name' | 'generation'>,
  nowMs: number,
): Promise<FailingAdverts | null> {
  const rows = await aside.failed(name, readAtMost, () => undefined);
  const ofUser = rows
    .filter(({ message }) => message.generation === generation)
    .map(({ message, wait }) => ({ message, since: failedSince(message, wait?.dueMs ?? nowMs) }))
    .sort((a, b) => a.since - b.since);
  const all = await Promise.all(
    ofUser.slice(0, lookedUpAtMost).map(async ({ message, since }) => {
      // A damaged row, or one that a role may not read, hides no failure.
      const read = advertHistories.read(message).catch((): Partial<AdvertRow> => ({ fault: 'unknown' }));
      const { fault, missingSince } = (await read) ?? {};
      // Neither: what was published as gone without a witness waits for a last look.
      const shown = fault ?? (missingSince === undefined ? undefined : ('not-found' satisfies FaultKind));
      const advertId = objectKeyOf(message);
      return shown === undefined ? [] : [{ advertId, fault: shown, since }];
    }),
  );
  const failing = all.flat();
  const [oldest] = failing;
  if (!oldest || nowMs - oldest.since < failingMs) return null;
  const count = new Set(failing.map(({ advertId }) => advertId)).size;
  return { count, isMore: ofUser.length > lookedUpAtMost, ...oldest, since: toInstant(oldest.since) };
}

/** From the waits since then; while all adverts of the account fail, waits are not added up. @param dueMs end of the last */
const failedSince = ({ listedAt, failed }: ChangedAdvert, dueMs: number): number =>
  Math.max(Date.parse(listedAt), dueMs - (failed?.waitedMs ?? 0));

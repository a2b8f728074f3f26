/** The adverts of an account that fail while others are answered: each waits by itself, and says nothing of the others. */
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import type { FaultKind } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { AdvertHistories, AdvertRow } from '../../shared/state/advert-histories.ts';
import type { Aside } from '../../shared/state/aside.ts';
import type { FailingAdverts } from './printed.ts';

/** Of an account, no more rows are read. */
const readAtMost = 10;
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
  const messages = rows.flatMap(({ message }) => (message.generation === generation ? [message] : []));
  const all = await Promise.all(
    messages.map(async (message) => {
      // A damaged row, or one that a role may not read, hides no failure.
      const read = advertHistories.read(message).catch((): Partial<AdvertRow> => ({ fault: 'unknown' }));
      const { fault, missingSince } = (await read) ?? {};
      // Neither: what was published as gone without a witness waits for a last look.
      const shown = fault ?? (missingSince === undefined ? undefined : ('not-found' satisfies FaultKind));
      const advertId = objectKeyOf(message);
      return shown === undefined ? [] : [{ advertId, fault: shown, since: message.listedAt }];
    }),
  );
  const failing = all.flat();
  const [oldest] = failing.toSorted((a, b) => Date.parse(a.since) - Date.parse(b.since));
  if (!oldest || nowMs - Date.parse(oldest.since) < failingMs) return null;
  const count = new Set(failing.map(({ advertId }) => advertId)).size;
  return { count, isMore: rows.length === readAtMost, ...oldest };
}

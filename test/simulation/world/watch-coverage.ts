/** Detects from a process's calls which branch of the protocol it took. */
import type { HistoryOwner } from '../../../shared/domain/advert-event.ts';
import type { Settlement } from '../../../shared/ports/queue.ts';
import type { AdvertRow } from '../../../shared/state/advert-histories.ts';
import type { Coverage } from '../model/coverage.ts';

const keyOf = ({ partnerAccount, feed, advertId }: Omit<HistoryOwner, 'generation'>) =>
  `${partnerAccount}/${feed}/${advertId}`;

/** One per process. */
export function createFanOutWatch({ count }: Coverage) {
  const rows = new Map<string, AdvertRow>();
  let written: string | undefined;

  return {
    read(key: HistoryOwner, row: AdvertRow | undefined): void {
      if (row) rows.set(keyOf(key), row);
      else rows.delete(keyOf(key));
    },
    wrote(key: HistoryOwner, row: AdvertRow, isWritten: boolean): void {
      if (!isWritten) {
        count('fan-out: conflict');
        return;
      }
      const before = rows.get(keyOf(key));
      if (row.sequence > (before?.sequence ?? 0)) written = row.envelope;
      else if (before?.pending && !row.pending) count('fan-out: pending event confirmed');
      else if (row.tries !== before?.tries && row.tries !== undefined) count('fan-out: tries counted');
      else if (row.missingSince !== before?.missingSince && row.missingSince !== undefined)
        count('fan-out: absence noted');
      else count('fan-out: trace left of an unchanged advert');
    },
    publishes(envelope: string): void {
      if (envelope === written) return;
      for (const row of rows.values()) {
        if (row.envelope === envelope) count('fan-out: pending event published');
      }
    },
    settles(settlements: readonly Settlement[]): void {
      for (const { verdict } of settlements)
        count(`verdict: ${verdict.kind === 'done' ? verdict.outcome : verdict.kind}`);
    },
  };
}

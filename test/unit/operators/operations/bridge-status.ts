/** The status of a bridge of which a test says only what differs from one that delivers. */
import type { LocalHost } from '../../../../operators/operations/bridge.ts';
import { readStatus, type StatusPorts } from '../../../../operators/operations/status.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { emptyBooks, type QueueFigures } from '../../../../shared/state/books.ts';
import type { FeedState } from '../../../../shared/state/feed-states.ts';
import { feedState, partnerAccount } from '../../../helpers/records.ts';

export const nowMs = Date.parse('2026-11-20T12:00:00Z');

type Rows = 'partnerAccounts' | 'feedStates' | 'budgetStore' | 'activity' | 'aside' | 'advertHistories';
/** Of the rows, only what a status reads. */
export type GivenPorts = Partial<Pick<StatusPorts, 'bookKeeper'>> & {
  readonly [Port in Rows]?: Partial<StatusPorts[Port]>;
};

export interface GivenStatus {
  /** Default: one, connected just now. */
  readonly accounts?: readonly Partial<PartnerAccount>[];
  /** Of every account, read a second ago; null: they have none. */
  readonly feed?: Partial<FeedState> | null;
  readonly queue?: Partial<QueueFigures>;
  /** Of the whole bridge. */
  readonly holds?: readonly Hold[];
  readonly ports?: GivenPorts;
  /** Of an embedded bridge. Default: a process runs it, nobody reads its events. */
  readonly host?: Partial<LocalHost>;
}

const running: LocalHost = {
  kind: 'local',
  isRunning: () => true,
  idleRun: async () => null,
  standstill: () => undefined,
  fullDisk: () => undefined,
  reusedHistories: () => [],
  webhooks: { list: () => [] },
  outputTrouble: () => undefined,
  outputEvents: () => undefined,
};

export function statusOf(
  { accounts = [{}], feed = {}, queue, holds, ports, host }: GivenStatus,
  only?: string,
) {
  const connectedAt = new Date(nowMs).toISOString();
  const rows = accounts.map((account) => partnerAccount({ connectedAt, ...account }));
  const feeds = rows.map(({ name }) =>
    feedState({ partnerAccount: name, lastSuccess: nowMs - 1_000, ...feed }),
  );
  const all: GivenPorts = {
    partnerAccounts: { list: async () => rows },
    feedStates: { list: async () => (feed === null ? [] : feeds) },
    bookKeeper: {
      read: async () => emptyBooks,
      queue: async () => ({ waiting: 0, deadLetters: 0, ...queue }),
    },
    activity: { read: async () => undefined },
    aside: { failed: async () => [] },
    budgetStore: { read: async () => ({ nextSlotMs: 0, ...(holds && { holds }) }) },
    ...ports,
  };
  return readStatus({ ...all, host: { ...running, ...host } } as StatusPorts, nowMs, only);
}

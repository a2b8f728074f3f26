/** What the steps of settling an advert share: its deliveries, its row, and what they need from the world. */
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { PublishedEvents } from '../../shared/domain/published-events.ts';
import { beforeAll, type Position } from '../../shared/domain/queue/position.ts';
import type { AdvertHistories, AdvertKey, AdvertRow } from '../../shared/ports/advert-histories.ts';
import type { AdvertReader } from '../../shared/ports/advert-reader.ts';
import type { Delivery } from '../../shared/ports/deliveries.ts';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { RetrySettings } from './redelivery.ts';

export interface AdvertDeps {
  readonly histories: AdvertHistories;
  readonly adverts: AdvertReader;
  readonly events: EventPublisher;
  readonly observer: Observer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: RetrySettings &
    PublishedEvents & {
      /** Paths in an advert whose values its events carry. Default none. */
      readonly eventFields?: readonly string[] | undefined;
      readonly confirmUnavailableSeconds: number;
      /**
       * The whole fetch of one advert takes no longer: its token, its turns in the rate budget and all attempts of the
       * client, each of which has `attemptTimeoutMs` at most (shared/partner-api/client.ts). So a hanging advert does not
       * burn its neighbours' time.
       */
      readonly fetchMs: number;
    };
}

export type MessageDelivery = Delivery & { readonly message: ChangedAdvert };

/** One advert's deliveries, oldest first. */
export type Group = readonly [head: MessageDelivery, ...rest: MessageDelivery[]];

/** Writes of a row that may conflict before it counts as contended beyond reason. */
export const maxConflicts = 20;
/** An advert without a history. */
export const firstRow: AdvertRow = {
  sequence: 0,
  status: null,
  position: beforeAll,
  owed: false,
  version: 0,
};

// Planted fault: feeds-share-histories
export const keyOf = ({ partnerAccount, generation, feed, advertId }: ChangedAdvert): AdvertKey => ({
  partnerAccount,
  generation,
  feed,
  advertId,
});

/** Every write raises the version; unless `change` says otherwise, nothing is owed after it. */
export function nextRow(row: AdvertRow, position: Position, change: Partial<AdvertRow>): AdvertRow {
  const { tries: _tries, missingSince: _missingSince, ...kept } = row;
  return { ...kept, owed: false, ...change, position, version: row.version + 1 };
}

import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { PublishedEvents } from '../../shared/domain/advert-event.ts';
import { type Clock, dayMs } from '../../shared/domain/clock.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { CachedAccounts } from '../../shared/partner-api/cached-rows.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { Delivery } from '../../shared/ports/queue.ts';
import type { AdvertHistories, AdvertRow } from '../../shared/state/advert-histories.ts';
import type { Witness } from './witness.ts';

export const redeliveryLimits = {
  /** Age at which a message with a transient fault becomes a dead letter. */
  maxAgeMs: dayMs,
  /**
   * A message with more receives is given up: it has crashed fan-out, or run out of its time, each time. SQS would take it
   * after 1,000.
   */
  maxReceives: 300,
  /** Messages that wait longer for a known moment go aside, because a hidden message cannot be made visible early. */
  longestHiddenMs: 60_000,
} as const;
type RedeliveryLimits = Readonly<Record<keyof typeof redeliveryLimits, number>>;

export interface AdvertDeps {
  readonly partnerAccounts: Pick<CachedAccounts, 'recent'>;
  readonly witness: Witness;
  readonly advertHistories: Pick<AdvertHistories, 'read' | 'write'>;
  readonly adverts: Pick<PartnerClient, 'readAdvert'>;
  readonly events: EventPublisher;
  readonly observer: Observer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: PublishedEvents &
    RedeliveryLimits & {
      /** Name of the bridge, for its events. */
      readonly bridge: string;
      /** Paths in an advert whose values are copied into its events. Default: none. */
      readonly eventFields?: readonly string[] | undefined;
      readonly confirmUnavailableSeconds: number;
      readonly confirmUnchangedSeconds: number;
      /** Time limit for the whole fetch of one advert, so that a hanging one leaves time for the others of its batch. */
      readonly fetchMs: number;
      /** Number of tries after which an advert-specific fault makes its message a dead letter. */
      readonly advertTries: number;
    };
}

export type MessageDelivery = Delivery & { readonly message: ChangedAdvert };

/** Whether the generation has ended, or its histories are being removed: an event now could begin one a second time. */
export const isOver = (account: PartnerAccount, generation: number): boolean =>
  account.generation > generation || (account.generation === generation && account.forgetting === true);

/** One advert's deliveries, oldest first. */
export type Group = readonly [head: MessageDelivery, ...rest: MessageDelivery[]];

/** The row of an advert that has no history yet. */
export const firstRow: AdvertRow = { sequence: 0, status: null, pending: false, etag: 'absent' };

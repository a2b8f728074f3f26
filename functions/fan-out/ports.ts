/** What the fan-out needs from the world. */
import type { ChangedAdvert, DeadLetter, Subject } from '../../shared/contract/messages.ts';
import type { Position } from '../../shared/domain/queue/position.ts';

export interface AdvertKey {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly advertId: string;
}

/** The history of one advert: its latest event, and who wrote it. */
export interface AdvertRow {
  /** Number of the latest event; 0 when there is none yet. */
  readonly sequence: number;
  /** Its status; null when the advert was unavailable, or there is no event yet. */
  readonly status: string | null;
  /** The latest event, stored whole: published again with the same ID and content. */
  readonly envelope?: string;
  /** Key of the message whose fetch wrote it. */
  readonly by?: string;
  /** Highest delivery position that wrote. */
  readonly position: Position;
  /** The latest event may not have been accepted by the bus: whoever comes next publishes it first. */
  readonly owed: boolean;
  /** Faults of the advert's own in a row, since the last answer that was fine: what dead-letters by tries. */
  readonly tries?: number;
  /** When the service first said that it does not know the advert, until that is confirmed or denied. */
  readonly missingSince?: number;
  /** Raised by every write. */
  readonly version: number;
}

/** The advert-status table. */
export interface AdvertHistories {
  /** Strongly consistent. */
  read(key: AdvertKey): Promise<AdvertRow | undefined>;
  /**
   * Writes `row` if the stored version is `row.version - 1` (no row: 0).
   *
   * @returns whether it was written
   */
  write(key: AdvertKey, row: AdvertRow): Promise<boolean>;
  /** Forgets every row of the partner account, of all generations up to `generation`. */
  remove(partnerAccount: string, generation: number): Promise<void>;
}

export interface ObservedAdvert {
  readonly status: string;
  /** When the answer arrived, by the bridge's clock. */
  readonly receivedAt: number;
}

/** The partner service, with the partner account's token already looked after. */
export interface AdvertReader {
  /**
   * @param options.generation of the message: a token of another generation of the partner account is not used
   * @throws {PartnerFault} `not-found` when the service does not know the advert; `generation-over`
   */
  readAdvert(
    partnerAccount: string,
    advertId: string,
    options: { readonly deadlineMs: number; readonly generation: number },
  ): Promise<ObservedAdvert>;
}

/** One delivery of one message. */
export interface Delivery {
  /** What settles it: a receipt handle, a message ID. */
  readonly id: string;
  /** `undefined` when the body is not of the contract; `flaw` then says why. */
  readonly message?: ChangedAdvert;
  readonly flaw?: string;
  /** What it was about, where the body tells that much. */
  readonly about?: Subject;
  readonly position: Position;
  /** How often it has been delivered, this time included. */
  readonly receives: number;
  /** When the queue accepted it, ms since 1970. */
  readonly sentAt: number;
}

/** What became of a listed ID, for the books. */
export type Outcome = 'events' | 'unchanged' | 'coalesced' | 'unavailable';

/** What is to become of a delivery. */
export type Verdict =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** Of a generation that was forgotten: leaves the queue, and is in nobody's books. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'again'; readonly delayMs: number }
  /** Leaves the queue, but not the books, and waits outside until it is released (functions/drain/release.ts). */
  | { readonly kind: 'park' }
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

export interface Settlement {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
}

/** Carries out the verdicts. Where one cannot be carried out, the message comes back. */
export interface Settler {
  settle(settlements: readonly Settlement[]): Promise<void>;
}

export interface ReceiveOptions {
  /** Most message groups (adverts) to take at once. */
  readonly maxGroups: number;
  /** Most messages of one group; they are handed out together, oldest first. */
  readonly maxPerGroup: number;
  readonly visibilityMs: number;
}

/** A queue that is asked for work. On AWS the event source mapping does the asking, and the handler gets the batch. */
export interface Inbox {
  /** Messages whose group has none in flight. Empty when nothing is waiting that may be had now. */
  receive(options: ReceiveOptions): Promise<Delivery[]>;
}

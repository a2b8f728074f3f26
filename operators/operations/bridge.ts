/** A bridge as operators see it: the same for an embedded bridge in a folder and for a deployed stack. */

import type { Backlog, Trouble } from '../../embedded/state/event-log.ts';
import type { Webhooks } from '../../embedded/state/webhooks.ts';
import type { ConnectAnswer, ConnectEvent } from '../../functions/connect/requests.ts';
import type { PollAnswer } from '../../shared/contract/invocations.ts';
import type { BridgeSettings } from '../../shared/contract/settings.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { Application } from '../../shared/domain/secret.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/queue.ts';
import type { BookKeeper } from '../../shared/state/books.ts';
import type { RowPorts } from '../../shared/state/row-ports.ts';
import type { IdleRun, StackState } from './printed.ts';
import type { PastMinute } from './stack-state.ts';

/** Returns a function that calls `make` once, on its first call, and gives every caller the same result. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** Logs nothing, for commands that report their outcome themselves. */
export const silentObserver: Observer = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
};

/** An embedded bridge: one process over a folder, with readers of its own. */
export interface LocalHost {
  readonly kind: 'local';
  /** Whether a process runs it. */
  isRunning(): boolean;
  idleRun(): Promise<IdleRun | null>;
  /** The run that a process holds, but does not come to, with the time of its last beat. */
  standstill(nowMs: number): { readonly run: string; readonly since: number } | undefined;
  /** The disk is full; since when, ms since 1970, if a run waits for room. */
  fullDisk(): { readonly since?: number } | undefined;
  /** The accounts that an older copy of the state would publish with used numbers. */
  reusedHistories(accounts: readonly PartnerAccount[]): readonly PartnerAccount[];
  readonly webhooks: Pick<Webhooks, 'list'>;
  /** Why standard output takes no events; undefined if it does. */
  outputTrouble(): Trouble | undefined;
  /** What waits for standard output; undefined if no run writes to it. */
  outputEvents(): Backlog | undefined;
}

/** A deployed stack: its functions always run. */
export interface StackHost {
  readonly kind: 'stack';
  readonly version: string;
  /** By which its functions read what a command writes. This machine's own may be minutes off. */
  readonly clock: Pick<Clock, 'now'>;
  read(nowMs: number): Promise<StackState>;
  past(nowMs: number): Promise<readonly PastMinute[]>;
}

export interface Hosted {
  readonly host: Pick<LocalHost, 'kind' | 'isRunning'> | Pick<StackHost, 'kind'>;
}

/** Whether a consumer takes messages from the queue: of a stack always, of a folder while a process runs it. */
export const isDelivering = ({ host }: Hosted): boolean => host.kind === 'stack' || host.isRunning();

/** What an operation acts on. Everything that costs a request is read on first use. */
export interface Bridge extends RowPorts {
  readonly host: LocalHost | StackHost;
  /** Prefix of the names of a stack's alarms; the folder of an embedded bridge. */
  readonly name: string;
  readonly clock: Clock;
  newId(): string;

  readonly bookKeeper: BookKeeper;
  readonly queue: ChangedAdvertsQueue;

  /** The settings of the stack, or of the folder's latest run. */
  settings(): Promise<BridgeSettings>;
  /** The partner service, within the bridge's rate budget and with its tokens. */
  service(): Promise<Pick<PartnerClient, 'readPage' | 'listAdverts'>>;
  /** @param baseUrl only for an embedded bridge: a stack has it as a setting */
  storeApplication(application: Application, baseUrl?: string, bridgeName?: string): Promise<void>;
  /**
   * Invokes the connect function of a stack, or carries out its work in this process.
   *
   * @param baseUrl only for an embedded bridge. Default: the stored one
   */
  askConnect(event: ConnectEvent, baseUrl?: string): Promise<ConnectAnswer>;
  /** Polls the feeds once, as {@link askConnect} does its work. @param only this partner account; default: all */
  poll(only: string | undefined): Promise<PollAnswer>;
  /** The operator: for a stack the caller's ARN, for an embedded bridge the user of this machine. */
  who(): Promise<string>;
  /** For so long the queue may say that it is empty although a message waits. */
  readonly depthLagMs: number;
  /** The envelopes of an advert's published events that are kept, in their order. A stack keeps none. */
  eventsOf?(partnerAccount: string, advertId: string): readonly string[];
  /**
   * Yields the envelopes of published events in the order of arrival, from now until `signal` is aborted.
   *
   * @param name of one partner account; undefined: all
   * @param say prints information that is not in the events
   */
  events(
    name: string | undefined,
    watch: {
      readonly signal: AbortSignal;
      readonly say: (text: string) => void;
      /** So many events from before come first, where they are kept. Default: none. */
      readonly recent?: number;
    },
  ): AsyncGenerator<readonly string[]>;
}

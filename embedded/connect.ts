import { randomUUID } from 'node:crypto';
import { connectPorts, createConnect } from '../functions/connect/connect.ts';
import type { BridgeSettings } from '../shared/contract/settings.ts';
import { systemClock } from '../shared/domain/clock.ts';
import { createLimitedClient } from '../shared/partner-api/partner-service.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { EmbeddedState } from '../shared/sqlite/state.ts';
import { refreshLockMs } from './partner.ts';

export interface LocalConnectOptions {
  readonly state: EmbeddedState;
  readonly baseUrl: string;
  readonly settings: BridgeSettings;
  readonly observer: Observer;
  /** Connections kept open. Default 1. */
  readonly concurrency?: number;
}

/**
 * Authorizing, connecting and disconnecting on the embedded state; events about it stay owed until the bridge runs, for
 * only `run` has somebody to give them to. Call `close` when done.
 */
export function createLocalConnect({ state, ...options }: LocalConnectOptions) {
  const { settings, observer } = options;
  const client = createLimitedClient({ ...options, budgetStore: state.budgetStore });
  const connect = createConnect({
    ...connectPorts(state, client),
    events: noSubscriberYet,
    observer,
    clock: systemClock,
    clockSkewMs: 0, // All of it runs on this machine.
    newId: () => `connect-${randomUUID()}`,
    settings: { ...settings, lockMs: refreshLockMs },
  });
  return { ...connect, close: () => client.close() };
}

export const noSubscriberYet: EventPublisher = {
  publish: () => Promise.reject(new Error('events are published by run')),
};

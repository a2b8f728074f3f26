import { randomUUID } from 'node:crypto';
import { createConnect } from '../functions/connect/connect.ts';
import { createRefreshToken } from '../functions/refresh-token/refresh-token.ts';
import type { RefreshOutcome, RefreshRequest } from '../shared/contract/invocations.ts';
import { stackName } from '../shared/contract/names.ts';
import type { BridgeSettings } from '../shared/contract/settings.ts';
import { systemClock } from '../shared/domain/clock.ts';
import { createPartnerClient, type PartnerClientOptions } from '../shared/partner-api/client.ts';
import { createPartnerService } from '../shared/partner-api/partner-service.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { EmbeddedState } from './state/state.ts';

export interface LocalPartnerOptions extends Omit<PartnerClientOptions, 'budgetStore' | 'settings'> {
  readonly state: EmbeddedState;
  readonly settings: BridgeSettings;
  readonly bridge: string;
  readonly events: EventPublisher;
  /** Creates the name of a refresh lock's holder; the next run releases locks left by an earlier run. */
  readonly newId: () => string;
}

/** The setting of a folder that is the name of its bridge in events. */
export const bridgeNameSetting = 'bridge-name';

/** A folder from before folders had names keeps the name in its events, so that subscribers' positions stay valid. */
export const bridgeNameIn = async ({ settings }: EmbeddedState): Promise<string> =>
  (await settings.read(bridgeNameSetting)) ?? stackName;

/**
 * A refresh goes on when the request that needs it has no more time: its answer may be the only one with a new pair. As
 * long as the function of a stack runs; most gateways end a request after a minute, too.
 */
const refreshMs = 60_000;

/** The partner service with the embedded state; this process refreshes the tokens. */
export function createLocalPartner({ state, events, newId, bridge, ...options }: LocalPartnerOptions) {
  const { settings, observer, clock = systemClock } = options;
  const partner = createPartnerService({
    ...options,
    budgetStore: state.budgetStore,
    partnerAccounts: state.partnerAccounts,
    tokenReader: state.vault,
    requester: { refresh },
  });
  const running = new Set<Promise<unknown>>();
  function refresh(request: RefreshRequest): Promise<RefreshOutcome> {
    const refreshing = refreshToken.refresh(request, { deadlineMs: clock.now() + refreshMs });
    const settled: Promise<unknown> = refreshing
      .catch(() => undefined)
      .finally(() => running.delete(settled));
    running.add(settled);
    return refreshing;
  }
  const refreshToken = createRefreshToken({
    ...state,
    events,
    observer,
    clock,
    newId,
    client: partner,
    settings: { requiredScope: settings.requiredScope, bridge },
  });
  return {
    ...partner,
    refreshToken,
    /** Waits for running refreshes before it closes the connections. */
    async close(): Promise<void> {
      await Promise.all(running);
      partner.close();
    },
  };
}

/** Connects and disconnects accounts in the embedded state; their events stay owed, for only `run` has subscribers. */
export function createLocalConnect({
  state,
  bridge,
  ...options
}: Omit<LocalPartnerOptions, 'events' | 'newId'>) {
  const { settings, observer } = options;
  const client = createPartnerClient({ ...options, budgetStore: state.budgetStore });
  const connect = createConnect({
    ...state,
    client,
    events: noSubscriberYet,
    observer,
    clock: systemClock,
    clockSkewMs: 0, // All processes use the clock of this machine.
    newId: () => `connect-${randomUUID()}`,
    settings: { ...settings, bridge },
  });
  return { ...connect, close: () => client.close() };
}

export const noSubscriberYet: EventPublisher = {
  publish: () => Promise.reject(new Error('events are published by run')),
};

import { onTestFinished } from 'vitest';
import { createConnect } from '../../functions/connect/connect.ts';
import { createRefreshToken } from '../../functions/refresh-token/refresh-token.ts';
import { type SandboxOptions, startSandbox } from '../../sandbox/server.ts';
import type { Rejection } from '../../shared/contract/invocations.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { createInMemoryEvents } from '../fakes/event-publisher.ts';
import { createInMemoryState } from '../fakes/state.ts';
import { createManualClock } from './manual-clock.ts';
import { clientOf } from './partner-api/fixtures.ts';
import { createRecordingObserver } from './recording-observer.ts';

/** refresh-token and connect over the in-memory ports, with a token endpoint reached over HTTP. */
export async function createTokenStage(baseUrl: string, clock = createManualClock()) {
  const client = clientOf(baseUrl, { clock });
  onTestFinished(() => client.close());
  const state = createInMemoryState({ clock });
  await state.applicationSecret.write({
    clientId: new Secret('sandbox-client'),
    clientSecret: new Secret('sandbox-client-secret'),
  });
  const observer = createRecordingObserver();
  const events = createInMemoryEvents();
  let ids = 0;
  const deps = {
    ...state,
    client,
    events,
    observer,
    clock,
    newId: () => `id${++ids}`,
    settings: {
      bridge: 'AdvertBridge',
      requiredScope: 'v2 read write',
      overlapSeconds: 300,
    },
  };
  const options = (ms = 60_000) => ({ deadlineMs: clock.now() + ms });
  const stage = { ...createRefreshToken(deps), ...createConnect(deps) };
  const account = async () => await state.partnerAccounts.read('main');
  return {
    ...{ clock, client, state, observer, events, deps, options, stage, account },
    connect: (refreshToken = 'sandbox-refresh-token-main') =>
      stage.connect({ partnerAccount: 'main', refreshToken: new Secret(refreshToken) }, options()),
    refresh: async (
      because: Rejection = 'token-rejected',
      ms?: number,
      by: { refresh: typeof stage.refresh } = stage,
    ) =>
      by.refresh(
        { partnerAccount: 'main', rejectedVersion: (await account())?.token?.version ?? '', because },
        options(ms),
      ),
    stored: async () => (await state.vault.read('main'))?.pair,
  };
}

/** The same with the sandbox as the service, by the same clock; `main` is connected. */
export async function createTokenWorld(options: SandboxOptions = {}) {
  const clock = createManualClock();
  const sandbox = await startSandbox({ clock, visibilityDelayMs: 0, ...options });
  onTestFinished(() => sandbox.close());
  const world = await createTokenStage(sandbox.url, clock);
  await world.connect();
  return { ...world, sandbox };
}

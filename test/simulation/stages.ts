/** The bridge's functions as processes: the real use cases, wired to ports that fail. */
import type { createDrain } from '../../functions/drain/drain.ts';
import type { createFanOut } from '../../functions/fan-out/fan-out.ts';
import type { createConnect } from '../../functions/refresh-token/connect.ts';
import type { createRefreshToken } from '../../functions/refresh-token/refresh-token.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { createPartnerClient } from '../../shared/partner-api/client.ts';
import type { createGate } from '../../shared/partner-api/gate.ts';
import type { RefreshOutcome } from '../../shared/partner-api/ports.ts';
import type { createPartnerReaders } from '../../shared/partner-api/readers.ts';
import type { createTokenSource } from '../../shared/partner-api/token-source.ts';
import { type BridgePorts, createBridgePorts } from './bridge-ports.ts';
import { createWatchedObserver } from './observer.ts';
import { createProcess, type Process, RemoteError } from './process.ts';
import { hashOf } from './random.ts';
import type { SimWorld } from './sim-world.ts';
import { createSimTransport, type Seen } from './transport.ts';

/** The code under test; a planted fault brings its own. */
export interface UseCases {
  readonly createDrain: typeof createDrain;
  readonly createFanOut: typeof createFanOut;
  readonly createRefreshToken: typeof createRefreshToken;
  readonly createConnect: typeof createConnect;
  readonly createTokenSource: typeof createTokenSource;
  readonly createPartnerReaders: typeof createPartnerReaders;
  readonly createGate: typeof createGate;
}

export interface Wiring {
  readonly useCases: UseCases;
  /** Ports as the code under test gets them. */
  readonly ports?: (ports: BridgePorts, world: SimWorld) => BridgePorts;
  readonly overlapSeconds?: number;
  /** Each process keeps to the rate by itself. */
  readonly isBudgetOwn?: boolean;
}

/** Function timeouts and what hangs on them, shorter than in life, for a run is a few minutes long. */
export const limits = {
  drainMs: 25_000,
  leaseMs: 30_000,
  workerMs: 12_000,
  visibilityMs: 20_000,
  refreshMs: 20_000,
  lockMs: 30_000,
  overlapSeconds: 30,
} as const;

export type Stages = ReturnType<typeof createStages>;

export function createStages(world: SimWorld, wiring: Wiring) {
  const { plan, scheduler } = world;
  const { useCases } = wiring;
  const counts = new Map<string, number>();

  function start(name: string) {
    const { log, phase, rates } = world;
    const { mostSkewMs, mostLateMs } = plan;
    const seed = hashOf('process', plan.seed);
    const process = createProcess({ scheduler, log, phase, rates, seed, mostSkewMs, mostLateMs }, name);
    const seen: Seen = { pages: new Map(), fetches: new Map() };
    const real = createBridgePorts(world, process, seen, wiring.isBudgetOwn);
    const ports = wiring.ports?.(real, world) ?? real;
    const { clock, random } = process;
    const observer = createWatchedObserver(world, process);
    const gate = useCases.createGate({
      store: ports.budget,
      maxRequestsPerSecond: plan.requestsPerSecond,
      circuitSeconds: 40,
      trialMs: 10_000,
      clock,
      random,
      observer,
    });
    const client = createPartnerClient({
      baseUrl: 'https://service.example',
      transport: createSimTransport(world, process, seen),
      attemptTimeoutMs: 3_000,
      gate,
      clock,
      random,
    });
    return { process, ports, clock, random, observer, client };
  }

  type Started = ReturnType<typeof start>;

  function readersOf({ process, ports, clock, client }: Started) {
    const tokens = useCases.createTokenSource({
      reader: ports.vault,
      accounts: ports.accounts,
      clock,
      requester: {
        refresh: (partnerAccount, rejectedVersion, because, deadlineMs) =>
          process.call({
            name: 'invoke refresh-token',
            allowed: ['crash-before', 'crash-after', 'refused', 'answer-lost', 'answer-late'],
            perform: () => invokeRefresh({ partnerAccount, rejectedVersion, because }, deadlineMs),
            says: () => `${partnerAccount} ${rejectedVersion}`,
          }),
      },
    });
    return useCases.createPartnerReaders({ client, tokens });
  }

  function tokenDepsOf({ process, ports, clock, random, observer, client }: Started) {
    const { accounts, vault, application, events } = ports;
    const settings = { requiredScope: 'v2 read write', lockMs: limits.lockMs };
    const { newId } = process;
    return {
      accounts,
      vault,
      application,
      events,
      endpoint: client,
      observer,
      clock,
      random,
      newId,
      settings,
    };
  }

  /** A function is killed when its time is over, and ends with its answer. */
  async function within<T>({ process }: Started, ms: number, work: () => Promise<T>): Promise<T> {
    const timeout = scheduler.after(ms, () => process.die('at its time limit'));
    return new Promise((resolve, reject) => {
      process.onDeath(() => reject(new RemoteError(`${process.name} died`)));
      work()
        .then(resolve, reject)
        .finally(() => {
          timeout.cancelled = true;
          process.die('at its end');
        });
    });
  }

  const numbered = (name: string) => {
    const number = (counts.get(name) ?? 0) + 1;
    counts.set(name, number);
    return `${name}-${number}`;
  };

  function invokeRefresh(
    request: Parameters<ReturnType<typeof createRefreshToken>['refresh']>[0],
    callerDeadlineMs: number,
  ): Promise<RefreshOutcome> {
    const started = start(numbered(`refresh-${request.partnerAccount}`));
    const { refresh } = useCases.createRefreshToken(tokenDepsOf(started));
    const deadlineMs = Math.min(callerDeadlineMs, started.clock.now() + limits.refreshMs - 5_000);
    return within(started, limits.refreshMs, () => refresh(request, { deadlineMs }));
  }

  async function drain(name: string): Promise<void> {
    const started = start(name);
    const { process, ports, clock, observer } = started;
    const { accounts, feedStates, queue, deadLetters } = ports;
    const { round } = useCases.createDrain({
      accounts,
      feedStates,
      queue,
      deadLetters,
      reader: readersOf(started),
      observer,
      clock,
      newId: process.newId,
      holder: name,
      settings: {
        overlapSeconds: wiring.overlapSeconds ?? limits.overlapSeconds,
        leaseMs: limits.leaseMs,
        mostWaiting: 1_000,
        pollSeconds: 60,
        feedsAtOnce: 2,
      },
    });
    // Not killed at a time limit: a drain that goes on after its lease is what the fence is for.
    await within(started, 300_000, () => round({ deadlineMs: clock.now() + limits.drainMs }));
  }

  /** Takes batch after batch, as a Lambda instance does, until it dies. */
  async function work(name: string, isOver: () => boolean): Promise<Process> {
    const started = start(name);
    const { process, ports, clock, random, observer } = started;
    const { accounts, histories, events, inbox, settler } = ports;
    const { handle } = useCases.createFanOut({
      accounts,
      histories,
      events,
      adverts: readersOf(started),
      observer,
      clock,
      random,
      settings: {
        advertTries: 3,
        mostAgeMs: plan.mostAgeMs,
        confirmUnavailableSeconds: plan.confirmUnavailableSeconds,
        fetchMs: 5_000,
      },
    });
    const takeOne = async (): Promise<boolean> => {
      // In the end as it is meant to be: longer than a batch takes. Before that it is often shorter.
      const visibilityMs = world.phase.chaos ? plan.visibilityMs : limits.visibilityMs;
      const deliveries = await inbox.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs });
      if (deliveries.length === 0) return false;
      await settler.settle(await handle(deliveries, { deadlineMs: clock.now() + limits.workerMs }));
      return true;
    };
    const loop = async () => {
      while (!isOver()) {
        const found = await takeOne().catch(() => false);
        if (!found) await clock.sleep(500 + random() * 4_000);
      }
    };
    void loop();
    return process;
  }

  async function sweep(name: string): Promise<void> {
    const started = start(name);
    const { sweep: sweepAll } = useCases.createRefreshToken(tokenDepsOf(started));
    const deadlineMs = started.clock.now() + limits.refreshMs - 5_000;
    await within(started, limits.refreshMs, () => sweepAll({ deadlineMs }));
  }

  /** A person connects the account with what the service gave for it. */
  async function connect(name: string, partnerAccount: string, refreshToken: string): Promise<void> {
    const started = start(name);
    const { ports } = started;
    const settings = {
      requiredScope: 'v2 read write',
      lockMs: limits.lockMs,
      overlapSeconds: limits.overlapSeconds,
    };
    const deps = { ...tokenDepsOf(started), feedStates: ports.feedStates, settings };
    const request = { partnerAccount, refreshToken: new Secret(refreshToken) };
    // A refresh that died holds its lock for a while, and a person has patience.
    const patienceMs = limits.refreshMs + 2 * limits.lockMs;
    const deadlineMs = started.clock.now() + patienceMs - 5_000;
    await within(started, patienceMs, () => useCases.createConnect(deps).connect(request, { deadlineMs }));
  }

  return { drain, work, sweep, connect };
}

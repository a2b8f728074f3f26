/** The bridge's functions as processes: the real use cases, connected to ports that fail. */

import { createConnect } from '../../../functions/connect/connect.ts';
import { createAuditShare } from '../../../functions/drain/audit-share.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import { auditSource } from '../../../operators/operations/advert-sources.ts';
import { audit } from '../../../operators/operations/audit.ts';
import type { Bridge } from '../../../operators/operations/bridge.ts';
import { redriveDeadLetters } from '../../../operators/operations/dead-letters.ts';
import { resync } from '../../../operators/operations/resync.ts';
import type { RefreshOutcome } from '../../../shared/contract/invocations.ts';
import { type PartnerAccount, stopOf } from '../../../shared/domain/partner-account.ts';
import type { Secret } from '../../../shared/domain/secret.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import type { Delivery, Inbox } from '../../../shared/ports/queue.ts';
import type { StoredDeadLetter } from '../../../shared/state/dead-letters.ts';
import { createPartnerAccounts, type PartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { between } from '../model/random.ts';
import { createBridgePorts } from './bridge-ports.ts';
import { createWatchedObserver } from './observer.ts';
import { createProcess, type Process, RemoteError } from './process.ts';
import type { SimWorld } from './sim-world.ts';
import { createSimTransport, type Seen } from './transport.ts';

export type Credential = { readonly refreshToken: Secret } | { readonly code: Secret };

export type Stages = ReturnType<typeof createStages>;

export type AuditResult = Awaited<ReturnType<typeof audit>>;

export function createStages(world: SimWorld) {
  const { plan, scheduler, coverage } = world;
  const { limits } = plan;
  const counts = new Map<string, number>();
  const tokenSettings = { bridge: 'AdvertBridge', requiredScope: 'v2 read write' };
  const pollSettings = {
    maxRequestsPerSecond: plan.requestsPerSecond,
    // Planted fault: no-overlap
    overlapSeconds: plan.overlapSeconds,
    leaseMs: limits.leaseMs,
    maxWaiting: limits.maxWaiting,
  };

  const frozenMs = (process: Process) => between(process.random, 5_000, 60_000);

  /** A worker lives long and is frozen again and again; a function that is called once, in its first seconds. */
  function freezeSometimes(process: Process, number = 1): void {
    const { name, random } = process;
    const isWorker = name.startsWith('worker');
    if (!isWorker && random() < 0.7) return;
    scheduler.after(isWorker ? between(random, 5_000, 60_000) : between(random, 0, 2_000), () => {
      if (!world.phase.chaos || process.isDead()) return;
      const ms = frozenMs(process);
      if (world.log.allows(`${name}-freeze-${number}`, () => `${name} stands still for ${ms} ms`))
        process.freeze(ms);
      if (isWorker) freezeSometimes(process, number + 1);
    });
  }

  /** At its time limit, Lambda ends a function; in some worlds it only freezes it, and goes on with it later. */
  function endInTime(process: Process): void {
    if (plan.freezes && world.phase.chaos) process.freeze(frozenMs(process));
    else process.die('at its time limit');
  }

  /**
   * A process with all that a use case depends on.
   *
   * @param isSpared nothing goes wrong with the process itself, nor with its calls to AWS
   */
  function start(name: string, isSpared = false) {
    const process = createProcess(world, name, isSpared);
    if (plan.freezes && world.phase.chaos && !isSpared) freezeSometimes(process);
    const seen: Seen = { pages: new Map(), fetches: new Map(), refusedCursors: new Set() };
    const ports = createBridgePorts(world, process, seen);
    const { clock, random } = process;
    const observer = createWatchedObserver(world, process);
    const { maxPauseSeconds, circuitSeconds, requestsPerSecond: maxRequestsPerSecond } = plan;
    const partner = createPartnerService({
      baseUrl: 'https://service.example',
      settings: { maxRequestsPerSecond, circuitSeconds, maxPauseSeconds },
      budgetStore: ports.budget,
      partnerAccounts: ports.partnerAccounts,
      tokenReader: ports.vault,
      transport: createSimTransport(world, process, seen),
      attemptTimeoutMs: limits.attemptMs,
      concurrency: 10,
      ...{ clock, random, observer },
      requester: {
        refresh: (request) =>
          process.call({
            name: 'invoke refresh-token',
            allowed: ['crash-before', 'crash-after', 'refused', 'answer-lost', 'answer-late'],
            async perform() {
              const outcome = await invokeRefresh(request);
              coverage.count(`refresh: ${outcome.kind}`);
              return outcome;
            },
            says: () => `${request.partnerAccount} ${request.rejectedVersion}`,
          }),
      },
    });
    const { partnerAccounts } = partner;
    const { lockMs } = limits;
    const common = { process, clock, random, observer, newId: process.newId, holder: name, lockMs };
    const served = { partner, reader: partner, client: partner };
    return { ...ports, ...common, ...served, partnerAccounts, accountRows: ports.partnerAccounts };
  }

  type Started = ReturnType<typeof start>;

  /** As on AWS: the row of a message is stored before it leaves the queue. */
  function settlerOf({ settler, aside }: Started): Pick<Inbox, 'settle'> {
    return {
      async settle(settlements) {
        const refused = await aside.store(settlements);
        await settler.settle(settlements.filter((settlement) => !refused.has(settlement)));
      },
    };
  }

  /** A function has a time limit; its process also ends after its answer. */
  async function within<T>({ process }: Started, ms: number, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timeout = scheduler.after(ms, () => {
        endInTime(process);
        reject(new RemoteError(`${process.name} ran out of time`));
      });
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

  const tokensOf = (started: Started) =>
    createRefreshToken({
      ...started,
      partnerAccounts: started.accountRows,
      budgetStore: started.budget,
      settings: tokenSettings,
    });

  function invokeRefresh(
    request: Parameters<ReturnType<typeof createRefreshToken>['refresh']>[0],
  ): Promise<RefreshOutcome> {
    const started = start(numbered(`refresh-${request.partnerAccount}`));
    const { refresh } = tokensOf(started);
    // A refresh goes on when its caller has no more time.
    const deadlineMs = started.clock.now() + limits.refreshMs - 5_000;
    return within(started, limits.refreshMs, () => refresh(request, { deadlineMs }));
  }

  async function drain(name: string): Promise<void> {
    const started = start(name);
    const { clock } = started;
    const { pollSeconds, auditSample } = plan;
    const settings = { ...pollSettings, pollSeconds, feedsAtOnce: 2, auditSample };
    const { auditShares, advertHistories } = world.state;
    const deps = { ...started, auditShares, advertHistories, settings };
    const sendAuditShare = createAuditShare(deps);
    const { run } = createDrain({ ...deps, ...(auditSample > 0 && { sendAuditShare }) });
    const poll = async () => {
      const startedAt = clock.now();
      const report = await run({
        deadlineMs: startedAt + limits.drainMs,
        nextRunMs: startedAt + limits.nextRunMs,
      });
      for (const { end } of report.polls) coverage.count(`poll ended: ${end}`);
      if (clock.now() - startedAt >= 5_000 && plan.pollSeconds < 60) coverage.count('drain: several rounds');
    };
    // Not killed at a time limit, because the fence must handle a drain that continues after its lease.
    await within(started, 300_000, poll);
  }

  /** As the command line does, which is interrupted after a while: then the drain reads on. */
  async function resyncFrom(name: string, partnerAccount: string, since: string): Promise<void> {
    const started = start(name);
    const bridge = {
      ...started,
      service: async () => started.reader,
      settings: async () => pollSettings,
    } as unknown as Bridge;
    const { signal } = new AbortController();
    const options = { signal, onProgress: () => undefined };
    await within(started, limits.resyncMs, () => resync(bridge, partnerAccount, since, options));
  }

  /**
   * As the command line does; a sample of all adverts.
   *
   * @param isAtRest on a machine where nothing goes wrong, and from the start, also while an earlier audit still runs
   * @returns undefined when the partner account is not connected
   */
  async function runAudit(
    name: string,
    partnerAccount: string,
    isAtRest: boolean,
  ): Promise<AuditResult | undefined> {
    const started = start(name, isAtRest);
    const account = await started.accountRows.read(partnerAccount);
    if (!account || stopOf(account)) return undefined;
    const key = { partnerAccount, generation: account.generation };
    const { signal } = new AbortController();
    const { advertHistories, audits, auditResults } = world.state;
    const bridge = {
      ...started,
      ...{ audits, auditResults, depthLagMs: 0, host: { kind: 'stack' } },
      advertHistories: { page: advertHistories.page, read: started.histories.read },
      settings: async () => ({ maxRequestsPerSecond: plan.requestsPerSecond }),
    } as unknown as Bridge;
    const source = await auditSource(bridge, key, { sample: 299, random: started.random });
    return within(started, 1_800_000, () => audit(bridge, { key, source, signal, restart: isAtRest }));
  }

  /** Deliveries that a worker has, and another one gets too: an event source mapping delivers at least once. */
  const handedTwice: (readonly Delivery[])[] = [];
  let handed = 0;

  function handTwice(process: Process, deliveries: readonly Delivery[]): void {
    handed += 1;
    const says = () => `what ${process.name} received is handed to another worker too`;
    if (!world.log.allows(`handed-${handed}`, says)) return;
    coverage.count('queue: handed twice');
    handedTwice.push(deliveries);
  }

  /** Handles batch after batch, as a Lambda instance does, until it dies. */
  async function work(name: string, isOver: () => boolean): Promise<Process> {
    const started = start(name);
    const { process, clock, random, inbox } = started;
    const settler = settlerOf(started);
    const { advertTries, maxAgeMs, maxReceives, longestHiddenMs } = plan;
    const { confirmUnavailableSeconds, confirmUnchangedSeconds } = plan;
    const { handle } = createFanOut({
      ...started,
      advertHistories: started.histories,
      adverts: started.partner,
      settings: {
        ...{ advertTries, maxAgeMs, maxReceives, longestHiddenMs },
        ...{ confirmUnavailableSeconds, confirmUnchangedSeconds },
        bridge: 'AdvertBridge',
        // The copied field must come from the same answer as the status: checks/events.ts.
        ...(plan.seed % 2 === 0 && { eventFields: ['status'] }),
        ...plan.publishedEvents,
        fetchMs: limits.fetchMs,
      },
    });
    const takeOne = async (): Promise<boolean> => {
      // At the end, the proper value, which is longer than a batch takes. Before that, often shorter.
      const visibilityMs = world.phase.chaos ? plan.visibilityMs : limits.visibilityMs;
      const deliveries =
        handedTwice.shift() ??
        (await inbox.receive({ maxGroups: plan.maxGroups, maxPerGroup: 10, visibilityMs }));
      if (deliveries.length === 0) return false;
      if (plan.handsTwice && world.phase.chaos && random() < 0.3) handTwice(process, deliveries);
      await settler.settle(await handle(deliveries, { deadlineMs: clock.now() + limits.workerMs }));
      return true;
    };
    const loop = async () => {
      while (!isOver()) {
        const found = await takeOne().catch(() => false);
        if (found && plan.livesOneBatch && world.phase.chaos) process.die('after its batch');
        if (!found) await clock.sleep(500 + random() * 4_000);
      }
    };
    void loop();
    return process;
  }

  async function sweep(name: string): Promise<void> {
    const started = start(name);
    const { sweep: sweepAll } = tokensOf(started);
    const deadlineMs = started.clock.now() + limits.refreshMs - 5_000;
    await within(started, limits.refreshMs, () => sweepAll({ deadlineMs }));
  }

  /**
   * Here one process represents many invocations, each of which waits for the lock for a while. The one that gets the
   * lock has the function's time limit, which is shorter than the lock's, so that nothing it sends arrives after
   * another one has the lock.
   */
  function endedBeforeItsLock({ process, store }: Started): PartnerAccounts {
    let limit: { cancelled?: boolean } | undefined;
    return createPartnerAccounts({
      ...store,
      put(key, value, expected) {
        const holder = (value as PartnerAccount).refreshing?.holder;
        if (holder?.startsWith(`${process.name}-`))
          limit ??= scheduler.after(limits.refreshMs, () => endInTime(process));
        else if (limit) [limit.cancelled, limit] = [true, undefined];
        return store.put(key, value, expected);
      },
    });
  }

  /**
   * Runs an operator's command about credentials. `work` may wait, because a refresh that died holds its lock for a
   * while.
   */
  async function asked<T>(
    name: string,
    work: (use: ReturnType<typeof createConnect>, started: Started, deadlineMs: number) => Promise<T>,
  ): Promise<T> {
    const started = start(name);
    const deps = {
      ...started,
      partnerAccounts: endedBeforeItsLock(started),
      budgetStore: started.budget,
      advertHistories: started.histories,
      bookKeeper: world.state.bookKeeper,
      settings: { ...tokenSettings, overlapSeconds: plan.overlapSeconds },
    };
    const patienceMs = limits.refreshMs + 2 * limits.lockMs;
    const deadlineMs = started.clock.now() + patienceMs - 5_000;
    return within(started, patienceMs, () => work(createConnect(deps), started, deadlineMs));
  }

  /** Connects with credentials from the service. */
  const connect = (
    name: string,
    partnerAccount: string,
    credential: Credential,
    // The person knows the user; the bridge could not determine it while fan-out is behind.
    who: { readonly sameUser?: boolean; readonly newUser?: boolean } = { sameUser: true },
  ) =>
    asked(name, (use, _started, deadlineMs) =>
      use.connect({ partnerAccount, ...credential, ...who }, { deadlineMs }),
    );

  const disconnect = (name: string, partnerAccount: string) =>
    asked(name, (use) => use.disconnect(partnerAccount));

  /** In the order of the command line's `disconnect --forget`. */
  const forget = (name: string, partnerAccount: string) =>
    asked(name, async (use, { histories }) => {
      const generation = await use.beginForget(partnerAccount);
      if (generation === undefined) return;
      world.history.rowsRemoved(partnerAccount, generation);
      await histories.remove(partnerAccount, generation);
      await use.endForget(partnerAccount, generation);
    });

  /** As the command line does. */
  function redrive(name: string, deadLetters: readonly StoredDeadLetter[]) {
    const started = start(name);
    return within(started, limits.refreshMs, () => redriveDeadLetters(started, deadLetters));
  }

  return { drain, resync: resyncFrom, audit: runAudit, work, sweep, connect, disconnect, forget, redrive };
}

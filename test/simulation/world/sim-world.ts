/** Everything that the processes of one run share: time, the service, the bridge's state, and the observers. */

import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import type { StoredPair } from '../../../shared/domain/secret.ts';
import type { WireRequest } from '../../../shared/partner-api/transport.ts';
import { createInMemoryEvents } from '../../fakes/event-publisher.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { createCoverage } from '../model/coverage.ts';
import type { Plan } from '../model/draw-plan.ts';
import { createHistory } from '../model/history.ts';
import { type Ill, illAnswer, isAbout, type SimResponse } from '../model/ill.ts';
import type { Trouble } from '../model/plan.ts';
import { between, hashOf, type Random, streamOf } from '../model/random.ts';
import { createRunLog } from '../model/run-log.ts';
import { createScheduler, epochMs } from '../model/scheduler.ts';
import { createService } from '../model/service.ts';
import type { Phase, Process } from './process.ts';
import { createUsers } from './users.ts';
import { createOperatorWatch } from './watch-operator.ts';
import { createTokenWatch, type EndOfRequest } from './watch-tokens.ts';
import { createTrafficWatch } from './watch-traffic.ts';

/** Troubles that show in the service's answers. */
const ofRequests: ReadonlySet<Trouble['kind']> = new Set(['outage', 'block', 'waits-1', 'waits-5']);

export interface WorldOptions {
  readonly without: ReadonlySet<string>;
  readonly isTraced: boolean;
}

export type SimWorld = ReturnType<typeof createSimWorld>;

export function createSimWorld(plan: Plan, options: WorldOptions) {
  const { without, isTraced } = options;
  const scheduler = createScheduler(hashOf('scheduler', plan.seed));
  const log = createRunLog({ scheduler, without, isTraced });
  const phase: Phase = { chaos: true };
  const coverage = createCoverage();
  const service = createService({ scheduler, ...plan.service });
  const history = createHistory(scheduler);
  const state = createInMemoryState({
    isFifo: true,
    clock: scheduler,
    maxReceives: plan.queueMaxReceives,
  });
  const events = createInMemoryEvents();
  events.refuse(() => {
    const isDown = plan.troubles.some((trouble) => trouble.kind === 'bus-down' && isOn(trouble));
    if (isDown) coverage.count('trouble: bus-down');
    return isDown;
  });
  const tokenWatch = createTokenWatch({ service, history });
  const users = createUsers({ scheduler, service, history });
  /** What each secret held from when on, newest last. */
  const secrets = new Map<
    string,
    { readonly fromMs: number; readonly stored: Awaited<ReturnType<typeof state.vault.read>> }[]
  >();
  const lag = streamOf(hashOf('lag', plan.seed));
  async function keepSecret(account: string): Promise<void> {
    const stored = await state.vault.read(account);
    secrets.set(account, [...(secrets.get(account) ?? []), { fromMs: scheduler.now(), stored }]);
  }
  const vault = {
    ...state.vault,
    /** Reads of Secrets Manager may lag behind its writes. */
    async readLate(account: string, version?: string) {
      const atMs = scheduler.now() - (phase.chaos ? between(lag, 0, plan.secretLagMs ?? 0) : 0);
      const visible = (secrets.get(account) ?? []).filter(({ fromMs }) => fromMs <= atMs);
      if (version === undefined) return visible.at(-1)?.stored;
      return visible.findLast(({ stored }) => !stored || stored.version === version)?.stored;
    },
    async remove(account: string) {
      await state.vault.remove(account);
      await keepSecret(account);
    },
    async write(account: string, pair: StoredPair) {
      const version = await state.vault.write(account, pair);
      await keepSecret(account);
      users.stored(version, pair);
      return version;
    },
  };
  const traffic = createTrafficWatch({ plan, scheduler, history });
  const operator = createOperatorWatch({ plan, scheduler, service, history });
  const askedOf = new Map<Ill, number>();

  /**
   * Runs `work`, and reports to the model how it changes the listed counts: a message that is both in the queue and aside,
   * because a process ended in between, counts as listed twice.
   */
  async function counted<T>(messages: readonly ChangedAdvert[], work: () => Promise<T>): Promise<T> {
    const own = new Map(messages.map((one) => [`${one.partnerAccount}/${one.generation}`, one]));
    const listed = () =>
      Promise.all(
        [...own.values()].map(
          async (one) => (await state.bookKeeper.read(one.partnerAccount, one.generation)).listed,
        ),
      );
    const before = await listed();
    const result = await work();
    const after = await listed();
    [...own.values()].forEach(({ partnerAccount, generation }, index) => {
      history.counted(partnerAccount, generation, (after[index] ?? 0) - (before[index] ?? 0));
    });
    return result;
  }

  function isOn({ key, fromMs, untilMs }: Trouble): boolean {
    const atMs = scheduler.now() - epochMs;
    return phase.chaos && atMs >= fromMs && atMs < untilMs && !without.has(key);
  }

  /** Whether a trouble of this kind currently affects this account. */
  function isTroubled(kind: Trouble['kind'], account: string): boolean {
    const found = plan.troubles.some((one) => one.kind === kind && one.account === account && isOn(one));
    if (found) coverage.count(`trouble: ${kind}`);
    return found;
  }

  /** The answer that something broken gives instead of the service's own. */
  function troubleOf(account: string, pathname: string, random: Random): SimResponse | undefined {
    for (const trouble of plan.troubles) {
      if (!isOn(trouble) || !ofRequests.has(trouble.kind)) continue;
      const { kind } = trouble;
      coverage.count(`trouble: ${kind}`);
      if (kind === 'outage') return { status: random() < 0.5 ? 500 : 502, body: '<html>' };
      if (kind === 'block') return { status: 403, body: '<html>blocked</html>' };
      // Feeds and tokens keep working, because this trouble is about messages.
      if (!/\/adverts\/\d+$/.test(pathname)) continue;
      return { status: 429, body: '', headers: { 'retry-after': kind.slice(-1) } };
    }
    const atMs = scheduler.now() - epochMs;
    const ill = plan.ills.find(
      (one) =>
        atMs >= one.fromMs &&
        atMs < one.untilMs &&
        !without.has(one.key) &&
        isAbout(one, { account, pathname }),
    );
    if (!ill) return undefined;
    coverage.count(`ill: ${ill.of}`);
    const asked = askedOf.get(ill) ?? 0;
    askedOf.set(ill, asked + 1);
    return illAnswer(ill.answer, asked);
  }

  return {
    counted,
    plan,
    scheduler,
    log,
    phase,
    /** How often a part that is ill was asked. */
    askedOf: askedOf as ReadonlyMap<Ill, number>,
    /** Called when a process is about to store a token pair. */
    storing: new Set<(process: Process, account: string) => void>(),
    /** Accounts for which a person is running a command. */
    commanded: new Set<string>(),
    coverage,
    service,
    history,
    state: { ...state, vault },
    events,
    users,
    tokenWatch,
    traffic,
    operator,
    troubleOf,
    isTroubled,
    requestStarted(process: Process, wire: WireRequest): EndOfRequest {
      traffic.started(process, wire);
      operator.requestStarted(process, wire);
      users.requestSent(process.name, wire);
      return tokenWatch.requestStarted(process, wire);
    },
    /** For the trace: shows tokens only by their numbers. */
    readable: (body: string): string => body.replace(/TOKEN-OF-/g, '').slice(0, 200),
  };
}

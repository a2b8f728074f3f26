/** Everything that the processes of one run share: time, the service, the bridge's state, and the observers. */

import type { StoredPair } from '../../../shared/domain/secret.ts';
import type { WireRequest } from '../../../shared/partner-api/transport.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import type { Plan } from '../model/draw-plan.ts';
import { type Ill, illAnswer, isAbout, passing, type SimResponse } from '../model/ill.ts';
import { createModel } from '../model/model.ts';
import type { Trouble } from '../model/plan.ts';
import { between, hashOf, type Random, streamOf } from '../model/random.ts';
import type { ModelOptions } from '../model/run-log.ts';
import { epochMs } from '../model/scheduler.ts';
import type { Process } from './process.ts';
import { createUsers } from './users.ts';
import { createBuses } from './watch-buses.ts';
import { createOperatorWatch } from './watch-operator.ts';
import { createTokenWatch, type EndOfRequest } from './watch-tokens.ts';
import { createTrafficWatch } from './watch-traffic.ts';

const minuteMs = 60_000;

/** Troubles that show in the service's answers. */
const ofRequests: ReadonlySet<Trouble['kind']> = new Set(['outage', 'block', 'waits-1']);

type StoredSecret = Awaited<ReturnType<ReturnType<typeof createInMemoryState>['vault']['read']>>;

export type SimWorld = ReturnType<typeof createSimWorld>;

export function createSimWorld(plan: Plan, options: ModelOptions) {
  const model = createModel(plan, options);
  const { scheduler, without, phase, coverage } = model;
  const state = createInMemoryState({
    isFifo: true,
    clock: scheduler,
    maxReceives: plan.queueMaxReceives,
  });
  const buses = createBuses(model, plan, isOn);
  const tokenWatch = createTokenWatch(model);
  const users = createUsers(model);
  /** What each secret held from when on, newest last. */
  const secrets = new Map<string, { readonly fromMs: number; readonly stored: StoredSecret }[]>();
  const lag = streamOf(hashOf('lag', plan.seed));
  async function keepSecret(account: string): Promise<void> {
    const kept = { fromMs: scheduler.now(), stored: await state.vault.read(account) };
    secrets.set(account, [...(secrets.get(account) ?? []), kept]);
  }
  const vault = {
    ...state.vault,
    /** Reads of Secrets Manager may lag behind its writes. */
    async readLate(account: string, version?: string) {
      const atMs = scheduler.now() - (phase.chaos ? between(lag, 0, plan.secretLagMs ?? 0) : 0);
      const visible = secrets.get(account)?.filter(({ fromMs }) => fromMs <= atMs);
      const isMeant = (stored: StoredSecret) =>
        version === undefined || stored?.version === version || !stored;
      return visible?.findLast(({ stored }) => isMeant(stored))?.stored;
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
  const traffic = createTrafficWatch(model);
  const operator = createOperatorWatch(model);
  const askedOf = new Map<Ill, number[]>();

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
  let [quotaMinute, askedInMinute] = [-1, 0];
  function quotaAnswer({ requests, phaseMs, isTold }: NonNullable<Plan['quota']>, atMs: number) {
    const [minute, inMinuteMs] = [Math.floor((atMs - phaseMs) / minuteMs), (atMs - phaseMs) % minuteMs];
    askedInMinute = minute === quotaMinute ? askedInMinute + 1 : 1;
    quotaMinute = minute;
    if (askedInMinute <= requests) return undefined;
    coverage.count('service: more requests than a minute may have');
    return passing(429, isTold ? Math.ceil((minuteMs - inMinuteMs) / 1_000) : undefined);
  }

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
    const overQuota = plan.quota && quotaAnswer(plan.quota, atMs);
    if (overQuota) return overQuota;
    const ill = plan.ills.find(
      (one) =>
        atMs >= one.fromMs &&
        atMs < one.untilMs &&
        !without.has(one.key) &&
        isAbout(one, { account, pathname }),
    );
    if (!ill) return undefined;
    coverage.count(`ill: ${ill.of}`);
    const asked = askedOf.get(ill) ?? [];
    askedOf.set(ill, [...asked, scheduler.now()]);
    return illAnswer(ill.answer, asked.length);
  }

  return {
    ...model,
    /** When a part that is ill was asked. */
    askedOf: askedOf as ReadonlyMap<Ill, readonly number[]>,
    /** Called when a process is about to store a token pair. */
    storing: new Set<(process: Process, account: string) => void>(),
    /** Accounts for which a person is running a command. */
    commanded: new Set<string>(),
    state: { ...state, vault },
    buses,
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

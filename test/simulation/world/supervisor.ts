/** Executes a plan: starts the processes, makes the changes, and lets the people act. */

import { inspect } from 'node:util';
import { stopOf } from '../../../shared/domain/partner-account.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { AccountMoment, Moment } from '../model/plan.ts';
import { between, hashOf, streamOf } from '../model/random.ts';
import { epochMs } from '../model/scheduler.ts';
import { secretMark } from '../model/token-desk.ts';
import { createAuditor } from './auditor.ts';
import { createPeople } from './people.ts';
import type { Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';
import type { Stages } from './stages.ts';
import { createAsideWatch } from './watch-aside.ts';

export function createSupervisor(world: SimWorld, stages: Stages) {
  const { plan, scheduler, log, phase, service, state, users, commanded } = world;
  const random = streamOf(hashOf('supervisor', plan.seed));
  const auditor = createAuditor(world, stages);
  const people = createPeople({ world, stages, auditor, random });
  const { unconnected, connect, connectTwin, handOver, revoke } = people;
  let over = false;
  /** Accounts whose next pair is stored by a process that dies then. */
  const unnamed = new Set<string>();

  const quietly = (work: Promise<unknown>) => void work.catch(() => undefined);
  const atMoment = (atMs: number, event: () => void) =>
    scheduler.after(atMs - (scheduler.now() - epochMs), event);

  const says = ({ key, ...what }: { readonly key: string }) =>
    `${key} ${inspect(what, { compact: true, breakLength: Number.POSITIVE_INFINITY })}`;

  /** Lets each planned incident happen at its time, unless it is left out of the run. */
  function planned<T extends Moment>(moments: readonly T[], act: (one: T) => void) {
    for (const one of moments)
      atMoment(one.atMs, () => {
        if (!log.allows(one.key, () => says(one))) return;
        log.trace('the plan', () => says(one));
        act(one);
      });
  }

  async function setUp(): Promise<void> {
    phase.chaos = false;
    const twinning = streamOf(hashOf('twinning', plan.seed));
    const [clientId, clientSecret] = [new Secret('client'), new Secret(`${secretMark}-application`)];
    await state.applicationSecret.write({ clientId, clientSecret });
    const { rotationMs } = plan.service;
    let left = plan.accounts.length;
    for (const account of plan.accounts) {
      const agedMs = between(random, 0, rotationMs);
      if (!plan.twins) {
        quietly(connect(account, agedMs).finally(() => (left -= 1)));
        continue;
      }
      // Near the start of a second, because generations are counted in seconds.
      left += 1;
      const [one, other] = [between(twinning, 800, 1_000), between(twinning, 800, 1_000)];
      scheduler.after(one, () => quietly(connect(account, agedMs).finally(() => (left -= 1))));
      scheduler.after(other, () => quietly(connectTwin(account).finally(() => (left -= 1))));
    }
    await scheduler.run(() => left === 0);
    if ((await state.partnerAccounts.list()).length < plan.accounts.length) throw new Error('cannot connect');
    phase.chaos = true;
  }

  function keepWorking(worker: number, life = 1): void {
    const name = life === 1 ? `worker-${worker}` : `worker-${worker}.${life}`;
    if (!log.allows(name, () => `${name} works`)) return;
    quietly(
      stages
        .work(name, () => over || !phase.chaos)
        .then((process) =>
          process.onDeath(() => {
            if (phase.chaos)
              scheduler.after(between(process.random, 500, 15_000), () => keepWorking(worker, life + 1));
          }),
        ),
    );
  }

  function every(ms: number, event: () => void): void {
    scheduler.after(ms, () => {
      if (over) return;
      event();
      every(ms, event);
    });
  }

  let storings = 0;

  /** Lets something happen to an account just when a process is about to store its token pair. */
  function whileStoring(share: number, what: string, act: (account: string, process: Process) => void): void {
    world.storing.add((process, account) => {
      if (!phase.chaos || account === plan.lostAccount || commanded.has(account) || random() >= share) return;
      storings += 1;
      const says = () => `${account}: ${what} while ${process.name} stores its pair`;
      if (log.allows(`storing-${storings}`, says)) act(account, process);
    });
  }

  function begin(): void {
    planned(plan.changes, ({ key, account, advertId, status }) => {
      const count = 1 + plan.handovers.filter((handover) => handover.account === account).length;
      const whose = users.whose(account, advertId ?? '', count, streamOf(hashOf(`user-${key}`, plan.seed)));
      if (advertId === undefined) service.listMalformed(whose.user, 'no-advert', random);
      else service.change(whose.user, whose.advertId, status, streamOf(hashOf(key, plan.seed)));
    });
    planned(plan.drains, ({ key }) => quietly(stages.drain(key)));
    planned(plan.rejections, ({ account }) => service.rejectCursors(users.currentOf(account)));
    planned(plan.resyncs, ({ key, account, backMs }) => quietly(people.readAgain(key, account, backMs)));
    planned(plan.audits, ({ key, account }) => quietly(auditor.run(key, account)));
    planned(plan.redrives, () => quietly(people.redrive(0.6)));
    planned(plan.beliefs ?? [], () => quietly(people.believe(0.6)));
    planned(plan.revocations, ({ account, backMs, isOfScope }) => {
      if (isOfScope) people.narrow(account);
      else revoke(account);
      scheduler.after(backMs, () => account !== plan.lostAccount && quietly(people.connect(account)));
    });
    if (plan.revokesWhileStoring) {
      whileStoring(0.4, 'is revoked', (account) => {
        revoke(account);
        quietly(connect(account));
      });
    }
    planned(plan.tokenEnds ?? [], ({ account, diesUnnamed }) => {
      if (diesUnnamed) unnamed.add(account);
      service.tokens.end(users.currentOf(account));
    });
    world.storing.add((process, account) => {
      if (!unnamed.delete(account)) return;
      // The pair is stored, the row does not name it, and its access token ends before anybody has used it.
      scheduler.after(1, () => {
        process.die('before it named a pair');
        service.tokens.end(users.currentOf(account));
      });
    });
    if (plan.freezes) {
      whileStoring(0.3, 'stands still', (account, process) => {
        // Longer than the lock lasts: meanwhile, somebody else is connected.
        process.freeze(plan.limits.lockMs + between(random, 5_000, 30_000));
        const first = random() < 0.5 ? handOver(account, false, false) : Promise.resolve();
        quietly(first.finally(() => connect(account)));
      });
    }
    const isKept = ({ account }: AccountMoment) => account !== plan.lostAccount;
    const twins = streamOf(hashOf('twins while forgetting', plan.seed));
    planned(plan.departures.filter(isKept), ({ account, backMs, forgets, revokedMs }) => {
      if (revokedMs > 0) revoke(account);
      scheduler.after(revokedMs, () => {
        const isHandedOver = plan.handovers.some((handover) => handover.account === account);
        const hasTwin = plan.twins && forgets && !isHandedOver;
        // First while the name is being forgotten, which takes a few steps; then again when it is reconnected.
        if (hasTwin) scheduler.after(between(twins, 20, 400), () => quietly(connectTwin(account)));
        quietly(
          people.leave(account, forgets).finally(() => {
            scheduler.after(backMs, () => quietly(connect(account)));
            if (hasTwin) scheduler.after(backMs + 100, () => quietly(connectTwin(account)));
          }),
        );
      });
    });
    planned(plan.handovers.filter(isKept), ({ account, awayMs, forgetsToSay, revokedMs }) => {
      if (revokedMs !== undefined) revoke(account);
      scheduler.after(revokedMs ?? 0, () => {
        const handed = handOver(account, awayMs !== undefined, forgetsToSay);
        quietly(handed.finally(() => scheduler.after(awayMs ?? 0, () => quietly(connect(account)))));
      });
    });
    for (const lasting of [...plan.troubles, ...plan.ills]) log.allows(lasting.key, () => says(lasting));
    planned(plan.operatorPauses, ({ account, forMs, resumedMs, early }) => {
      quietly(people.pauseByOperator(account, forMs));
      if (resumedMs !== undefined)
        scheduler.after(resumedMs, () => quietly(people.resumeByOperator(account, early)));
    });
    planned(plan.lifts, () => void people.resumeEarly());
    const { lostAccount } = plan;
    if (lostAccount) atMoment(plan.chaosMs / 2, () => revoke(lostAccount));
    for (let worker = 1; worker <= plan.workers; worker += 1) keepWorking(worker);
    let sweeps = 0;
    every(30_000, () => quietly(stages.sweep(`sweep-${++sweeps}`)));
  }

  /** Nothing goes wrong any more: everything that was delayed must arrive now. */
  function calmDown(): void {
    phase.chaos = false;
    log.trace('', () => 'CALM');
    for (const name of ['worker-calm-1', 'worker-calm-2']) quietly(stages.work(name, () => over));
    let drains = 0;
    every(10_000, () => quietly(stages.drain(`drain-calm-${++drains}`)));
    const watchAside = createAsideWatch(world);
    every(10_000, () => void watchAside());
    every(20_000, () => {
      for (const account of unconnected) if (account !== plan.lostAccount) quietly(connect(account));
    });
  }

  /** Messages of an account that nobody connects any more wait for ever, and must not delay others. */
  const heldOf = async (account: string | undefined): Promise<number> =>
    account === undefined ? 0 : (await state.aside.list(account)).length;

  async function isIdle(): Promise<boolean> {
    const { waiting } = await state.bookKeeper.queue();
    const later = await Promise.all(
      plan.accounts
        .filter((account) => account !== plan.lostAccount)
        .map((account) => state.aside.countLater(account, scheduler.now())),
    );
    if (waiting > later.reduce((all, one) => all + one, await heldOf(plan.lostAccount))) return false;
    if ([...unconnected].some((account) => account !== plan.lostAccount)) return false;
    const feeds = await state.feedStates.list();
    return feeds.every(
      ({ partnerAccount, cursor }) =>
        partnerAccount === plan.lostAccount || service.isAtEnd(users.currentOf(partnerAccount), cursor),
    );
  }

  /** Lets at least `atLeastMs` pass, until everything has arrived. @returns whether it has by `atMostMs` */
  async function untilIdle(atLeastMs: number, atMostMs: number): Promise<boolean> {
    const from = scheduler.now();
    for (;;) {
      const nextLook = Math.max(from + atLeastMs, scheduler.now() + 5_000);
      await scheduler.run(() => scheduler.now() >= nextLook);
      if (await isIdle()) return true;
      if (scheduler.now() - from >= atMostMs) return false;
    }
  }

  /** Two of the service's days with only sweeps: a refresh token that is not the newest dies in this time. */
  async function letDaysPass(): Promise<void> {
    over = true;
    if (plan.pausesAtLast) {
      await people.pauseByOperator(undefined);
      world.coverage.count('operator: pauses at last');
    }
    const until = scheduler.now() + 2.2 * plan.service.rotationMs;
    let sweeps = 0;
    const sweep = () => {
      quietly(stages.sweep(`sweep-late-${++sweeps}`));
      scheduler.after(60_000, sweep);
    };
    sweep();
    await scheduler.run(() => scheduler.now() >= until);
  }

  /** Lets time pass until `work` is done. */
  async function finish(work: Promise<unknown>): Promise<void> {
    let isOver = false;
    quietly(
      work.finally(() => {
        isOver = true;
      }),
    );
    await scheduler.run(() => isOver);
  }

  /** Audits one account after another, if the plan has audits. */
  async function audit(): Promise<void> {
    for (const account of plan.audits.length === 0 ? [] : plan.accounts)
      if (account !== plan.lostAccount) await finish(auditor.runAtRest(account));
  }

  async function stoppedAccounts(): Promise<string[]> {
    const accounts = await state.partnerAccounts.list();
    return accounts.filter((account) => stopOf(account)).map(({ name }) => name);
  }

  return { people, setUp, begin, calmDown, finish, audit, untilIdle, letDaysPass, stoppedAccounts };
}

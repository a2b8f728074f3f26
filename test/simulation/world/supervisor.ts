/** Executes a plan: starts the processes, makes the changes, and plays the people around the bridge. */

import { pause, resume } from '../../../operations/pause.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import { PartnerError } from '../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { stopOf } from '../../../shared/domain/partner-account.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { AccountMoment, Moment, Plan, PlannedChange } from '../model/plan.ts';
import { between, hashOf, streamOf } from '../model/random.ts';
import { epochMs } from '../model/scheduler.ts';
import { secretMark } from '../model/token-desk.ts';
import { createAuditor } from './auditor.ts';
import type { Process } from './process.ts';
import { editsSecretOfStopped } from './secret-editor.ts';
import type { SimWorld } from './sim-world.ts';
import type { Stages } from './stages.ts';
import { watchParked } from './watch-parked.ts';

export function createSupervisor(world: SimWorld, stages: Stages) {
  const { plan, scheduler, log, phase, service, state, history, users, commanded } = world;
  const random = streamOf(hashOf('supervisor', plan.seed));
  /** Accounts that a person must connect because their authorization was revoked. */
  const unconnected = new Set<string>();
  /** Accounts of these whose authorization was revoked again after a person began to connect them. */
  const lostMeanwhile = new Set<string>();
  /** Codes of failed commands: they are used again, although they may already be used up. */
  const codes = new Map<string, string>();
  /** Accounts that a person has begun to forget: their history and cursor may be partly deleted. */
  const forgetting = new Set<string>();
  /** Names that a person wants to give to another user, until this has succeeded. */
  const handingOver = new Map<string, { isTold: boolean; hasBegun: boolean }>();
  const auditor = createAuditor(world, stages);
  let commands = 0;
  let over = false;

  const quietly = (work: Promise<unknown>) => void work.catch(() => undefined);
  const atMoment = (atMs: number, event: () => void) =>
    scheduler.after(atMs - (scheduler.now() - epochMs), event);

  /** Lets each planned incident happen at its time, unless it is left out of the run. */
  function planned<T extends Moment>(moments: readonly T[], says: (one: T) => string, act: (one: T) => void) {
    for (const one of moments) atMoment(one.atMs, () => log.allows(one.key, () => says(one)) && act(one));
  }

  /** Runs one command at a time per account: nobody starts a command before the previous one has ended. */
  async function alone(account: string, command: () => Promise<void>): Promise<void> {
    if (commanded.has(account)) return;
    commanded.add(account);
    try {
      await command();
    } finally {
      commanded.delete(account);
    }
  }

  const named = (command: string, account: string) => `${command}-${account}-${++commands}`;

  /** Connects with a refresh token, or with a code from the browser. */
  const connect = (account: string, agedMs = 0) =>
    alone(account, async () => {
      // A person who has begun to forget the account finishes this first.
      if (forgetting.has(account)) await forget(account);
      const { tokens } = service;
      const handover = handingOver.get(account);
      if (handover && !handover.hasBegun) {
        users.next(account);
        codes.delete(account);
        handover.hasBegun = true;
      }
      const user = users.currentOf(account);
      if (handover && !handover.isTold) await connectUntold(account, handover);
      const triedCode = codes.get(account);
      codes.delete(account);
      lostMeanwhile.delete(account);
      const isByCode = triedCode !== undefined || (phase.chaos && random() < 0.5);
      const code = triedCode ?? tokens.code(user);
      if (triedCode === undefined && isByCode) codes.set(account, code);
      const credential = isByCode
        ? { code: new Secret(code) }
        : { refreshToken: new Secret(tokens.authorize(user, agedMs)) };
      world.coverage.count(`person: connects by ${isByCode ? 'code' : 'refresh token'}`);
      const who = handover ? { newUser: true } : { sameUser: true };
      await stages.connect(named('connect', account), account, credential, who);
      codes.delete(account);
      if (handover) {
        handingOver.delete(account);
        world.coverage.count('person: gives the name to another user');
      }
      if (tokens.isWhole(user) && !lostMeanwhile.has(account)) unconnected.delete(account);
    });

  /** Connects another user without saying so: this must be refused or reported as unverified. */
  async function connectUntold(account: string, handover: { isTold: boolean }): Promise<void> {
    handover.isTold = true;
    users.unsure.add(account);
    const refreshToken = new Secret(service.tokens.authorize(users.currentOf(account)));
    try {
      const connected = await stages.connect(named('connect', account), account, { refreshToken }, {});
      if (connected.isNew) return;
      world.coverage.count('person: another user unverified');
      if (connected.userUnverified !== undefined) return;
      history.violated({
        invariant: 'credentials-kept',
        subject: account,
        message: `${users.currentOf(account)} was taken for the user who was ${account} before`,
      });
    } catch (error) {
      if (!(error instanceof PartnerError) || error.code !== 'other-user') return;
      users.unsure.delete(account);
      world.coverage.count('person: another user refused');
    }
  }

  /** The same user is connected by a second person, who does not know about the first one. */
  async function connectTwin(account: string): Promise<void> {
    const refreshToken = new Secret(service.tokens.authorize(users.currentOf(account)));
    try {
      await stages.connect(named('connect-twin', account), account, { refreshToken });
    } catch (error) {
      if (error instanceof PartnerError && error.code === 'account-busy')
        world.coverage.count('person: refused for another one at once');
    }
  }

  async function handOver(account: string, disconnects: boolean, forgetsToSay: boolean): Promise<void> {
    await alone(account, async () => {
      unconnected.add(account);
      handingOver.set(account, { isTold: !forgetsToSay, hasBegun: false });
      if (disconnects) await stages.disconnect(named('disconnect', account), account);
    });
  }

  async function forget(account: string): Promise<void> {
    // Also if only the end is left: credentials put into its secret in the meantime are deleted too.
    unconnected.add(account);
    await stages.forget(named('forget', account), account);
    forgetting.delete(account);
    world.coverage.count('person: forgets');
  }

  const leave = (account: string, forgets: boolean) =>
    alone(account, async () => {
      unconnected.add(account);
      if (!forgets) {
        const stop = (await state.partnerAccounts.read(account))?.stop;
        if (stop && stop.reason !== 'disconnected')
          world.coverage.count('person: disconnects what is stopped');
        await stages.disconnect(named('disconnect', account), account);
        return world.coverage.count('person: disconnects');
      }
      const known = await state.partnerAccounts.read(account);
      if (!known) return;
      history.forgets(account, known.generation);
      forgetting.add(account);
      await forget(account);
    });

  async function authorizeAgain(account: string): Promise<void> {
    if (!handingOver.has(account) && (await editsSecretOfStopped(world, account)))
      unconnected.delete(account);
    else await connect(account);
  }

  /** Starts no later than the position of reading, because a resync skips changes before its time. */
  async function readAgain(key: string, account: string, backMs: number): Promise<void> {
    const feeds = await state.feedStates.list();
    const feed = feeds.find((one) => one.partnerAccount === account);
    if (!feed) return;
    const { since, lastSuccess, resyncing } = feed;
    const readTo = lastSuccess === undefined || resyncing ? Date.parse(since) : lastSuccess - 60_000;
    await stages.resync(key, account, toInstant(Math.min(scheduler.now() - backMs, readTo)));
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

  async function redrive(share: number): Promise<void> {
    const letters = (await state.deadLetters.list()).filter(() => random() < share);
    while (letters.length > 0) {
      const [letter] = letters.splice(Math.floor(random() * letters.length), 1);
      if (letter?.letter.message) log.trace('a person', () => `redrives ${letter.letter.message?.key}`);
      if (!letter || (await state.deadLetters.redrive(letter.id)) !== 'redriven') continue;
      world.coverage.count('queue: redriven');
      auditor.setAside(`${letter.letter.partnerAccount}/${letter.letter.advertId}`);
    }
  }

  async function dropDeadLetters(): Promise<void> {
    for (const { id, letter } of await state.deadLetters.list()) {
      await state.deadLetters.take(id);
      if (letter.message) history.judge(letter.message.key, 'dropped');
      auditor.setAside(`${letter.partnerAccount}/${letter.advertId}`);
    }
  }

  function revoke(account: string): void {
    service.tokens.revoke(users.currentOf(account));
    world.coverage.count('service: revoked');
    unconnected.add(account);
    lostMeanwhile.add(account);
    log.trace('service', () => `revokes ${account}`);
  }

  function narrow(account: string): void {
    service.tokens.narrow(users.currentOf(account));
    unconnected.add(account);
    lostMeanwhile.add(account);
    world.coverage.count('service: scope lost');
    log.trace('service', () => `takes a scope of ${account} back`);
  }

  async function rests(account: string, ownPause: PartnerAccount['pause']): Promise<void> {
    log.trace('a person', () => (ownPause ? `pauses ${account}` : `resumes ${account}`));
    world.coverage.count(`person: ${ownPause ? 'pauses' : 'resumes'}`);
    await state.partnerAccounts.change(account, ({ pause: _before, ...rest }) => ({
      ...rest,
      ...(ownPause ? { pause: ownPause } : {}),
    }));
  }

  const pausePorts = { accounts: state.partnerAccounts, budgetStore: state.budgetStore };

  async function pauseByOperator(account: string | undefined, forMs?: number): Promise<void> {
    const since = scheduler.now();
    const wanted = { who: 'operator', since, ...(forMs === undefined ? {} : { until: since + forMs }) };
    log.trace('an operator', () => `pauses ${account ?? 'the bridge'}`);
    // A forgotten name is unknown.
    await pause(pausePorts, account, wanted);
    world.operator.paused(account, wanted);
    world.coverage.count(`operator: pauses ${account ? 'an account' : 'the bridge'}`);
  }

  async function resumeByOperator(account: string | undefined, early: boolean): Promise<void> {
    log.trace('an operator', () => `resumes ${account ?? 'the bridge'}${early ? ', early' : ''}`);
    world.operator.ended(account);
    const { servicePauseUntil, circuitEnded } = await resume(pausePorts, account, { early }, scheduler.now());
    if (early) world.traffic.circuitEndedByPerson();
    world.coverage.count('operator: resumes');
    if (servicePauseUntil !== undefined || circuitEnded)
      world.coverage.count('operator: ends what the service asked for');
  }

  /** A person knows that the service is ready, although it asked to wait or the circuit is open. */
  async function resumeEarly(): Promise<void> {
    const { pausedUntilMs, pauseReason } = await state.budgetStore.read();
    if (pausedUntilMs <= scheduler.now()) return;
    if (pauseReason === 'circuit') world.coverage.count('person: ends the circuit');
    await resumeByOperator(undefined, true);
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
    const becomes = ({ account, advertId, status }: PlannedChange) =>
      `${account} ${advertId ?? 'no advert'} becomes ${status ?? 'unknown'}`;
    planned(plan.changes, becomes, (change) => {
      const { key, account, advertId, status } = change;
      log.trace('service', () => becomes(change));
      const count = 1 + plan.handovers.filter((handover) => handover.account === account).length;
      const whose = users.whose(account, advertId ?? '', count, streamOf(hashOf(`user-${key}`, plan.seed)));
      if (advertId === undefined) service.listMalformed(whose.user, 'no-advert', random);
      else service.change(whose.user, whose.advertId, status, streamOf(hashOf(key, plan.seed)));
    });
    planned(
      plan.drains,
      ({ key }) => `${key} runs`,
      ({ key }) => quietly(stages.drain(key)),
    );
    planned(
      plan.rejections,
      ({ account }) => `${account}: cursors are rejected`,
      ({ account }) => service.rejectCursors(users.currentOf(account)),
    );
    planned(
      plan.resyncs,
      ({ account }) => `a person has the feed of ${account} read again`,
      ({ key, account, backMs }) => quietly(readAgain(key, account, backMs)),
    );
    planned(
      plan.audits,
      ({ account }) => `a person audits ${account}`,
      ({ key, account }) => quietly(auditor.run(key, account)),
    );
    planned(
      plan.redrives,
      () => 'dead letters are redriven in part',
      () => quietly(redrive(0.6)),
    );
    planned(
      plan.revocations,
      ({ account, isOfScope }) => `${account} ${isOfScope ? 'loses a scope' : 'is revoked'}`,
      ({ account, backMs, isOfScope }) => {
        if (isOfScope) narrow(account);
        else revoke(account);
        scheduler.after(backMs, () => account !== plan.lostAccount && quietly(authorizeAgain(account)));
      },
    );
    if (plan.revokesWhileStoring) {
      whileStoring(0.4, 'is revoked', (account) => {
        revoke(account);
        quietly(connect(account));
      });
    }
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
    const leaves = ({ account, forgets }: Plan['departures'][number]) =>
      `a person ${forgets ? 'forgets' : 'disconnects'} ${account}`;
    planned(plan.departures.filter(isKept), leaves, ({ account, backMs, forgets, revokedMs }) => {
      if (revokedMs > 0) revoke(account);
      scheduler.after(revokedMs, () => {
        log.trace('a person', () => `${forgets ? 'forgets' : 'disconnects'} ${account}`);
        const isHandedOver = plan.handovers.some((handover) => handover.account === account);
        const hasTwin = plan.twins && forgets && !isHandedOver;
        // First while the name is being forgotten, which takes a few steps; then again when it is reconnected.
        if (hasTwin) scheduler.after(between(twins, 20, 400), () => quietly(connectTwin(account)));
        quietly(
          leave(account, forgets).finally(() => {
            scheduler.after(backMs, () => quietly(connect(account)));
            if (hasTwin) scheduler.after(backMs + 100, () => quietly(connectTwin(account)));
          }),
        );
      });
    });
    const gives = ({ account, awayMs }: Plan['handovers'][number]) =>
      `a person gives ${account} to another user${awayMs === undefined ? '' : ', disconnecting it first'}`;
    planned(plan.handovers.filter(isKept), gives, (handover) => {
      const { account, awayMs, forgetsToSay, revokedMs } = handover;
      if (revokedMs !== undefined) revoke(account);
      scheduler.after(revokedMs ?? 0, () => {
        log.trace('a person', () => gives(handover));
        const handed = handOver(account, awayMs !== undefined, forgetsToSay);
        quietly(handed.finally(() => scheduler.after(awayMs ?? 0, () => quietly(connect(account)))));
      });
    });
    for (const { key, kind, account, fromMs, untilMs } of plan.troubles) {
      log.allows(key, () => `${kind} ${account} from ${fromMs / 1000} s to ${untilMs / 1000} s`);
    }
    for (const { key, account, of, answer, fromMs, untilMs } of plan.ills) {
      log.allows(key, () => `${of} of ${account}: ${answer} from ${fromMs / 1000} s to ${untilMs / 1000} s`);
    }
    planned(
      plan.pauses,
      ({ account, forMs }) => `a person pauses ${account} for ${forMs / 1000} s`,
      ({ account, forMs, endsMs }) => {
        void rests(account, { until: scheduler.now() + forMs, reason: 'a person', attempts: 0 });
        // Before its end, or exactly at it.
        scheduler.after(endsMs, () => void rests(account, undefined));
      },
    );
    planned(
      plan.operatorPauses,
      ({ account }) => `an operator pauses ${account ?? 'the bridge'}`,
      ({ account, forMs, resumedMs, early }) => {
        quietly(pauseByOperator(account, forMs));
        if (resumedMs !== undefined)
          scheduler.after(resumedMs, () => quietly(resumeByOperator(account, early)));
      },
    );
    planned(
      plan.lifts,
      () => 'a person ends what the service asked for',
      () => void resumeEarly(),
    );
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
    every(10_000, () => void watchParked(world));
    every(20_000, () => {
      for (const account of unconnected) if (account !== plan.lostAccount) quietly(connect(account));
    });
  }

  /** Messages of an account that nobody connects any more wait for ever, and must not delay others. */
  const parkedOf = async (account: string | undefined): Promise<number> =>
    account === undefined ? 0 : (await state.parkingLot.oldest(account, Number.POSITIVE_INFINITY)).length;

  async function isIdle(): Promise<boolean> {
    const { waiting } = await state.bookKeeper.queue();
    if (waiting > (await parkedOf(plan.lostAccount))) return false;
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
      await pauseByOperator(undefined);
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

  /** Audits one account after another, if the plan has audits. */
  async function audit(): Promise<void> {
    let isOver = plan.audits.length === 0;
    const all = async () => {
      for (const account of plan.accounts) {
        if (account !== plan.lostAccount) await auditor.runAtRest(account);
      }
    };
    if (!isOver)
      quietly(
        all().finally(() => {
          isOver = true;
        }),
      );
    await scheduler.run(() => isOver);
  }

  async function stoppedAccounts(): Promise<string[]> {
    const accounts = await state.partnerAccounts.list();
    return accounts.filter((account) => stopOf(account)).map(({ name }) => name);
  }

  return { setUp, begin, calmDown, redrive, dropDeadLetters, audit, untilIdle, letDaysPass, stoppedAccounts };
}

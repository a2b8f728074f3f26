/** Sets a plan in motion: starts the processes, makes the changes, plays the people around the bridge. */
import { changeAccount, stopOf } from '../../shared/domain/accounts.ts';
import type { PartnerAccount } from '../../shared/domain/ports.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { between, hashOf, streamOf } from './random.ts';
import { epochMs } from './scheduler.ts';
import { editsSecretOfStopped } from './secret-editor.ts';
import type { SimWorld } from './sim-world.ts';
import type { Stages } from './stages.ts';
import { secretMark } from './token-desk.ts';
import { watchParked } from './watch-parked.ts';

export type Supervisor = ReturnType<typeof createSupervisor>;

export function createSupervisor(world: SimWorld, stages: Stages) {
  const { plan, scheduler, log, phase, service, state, history, commanded } = world;
  const random = streamOf(hashOf('supervisor', plan.seed));
  /** Accounts that a person has to connect, since their authorization was taken back. */
  const unconnected = new Set<string>();
  /** Codes of commands that failed: they are given once more, though they may have been used up. */
  const codes = new Map<string, string>();
  /** Accounts that a person has begun to forget: history and cursor may be gone in part. */
  const forgetting = new Set<string>();
  let commands = 0;
  let over = false;

  const quietly = (work: Promise<unknown>) => void work.catch(() => undefined);
  const atMoment = (atMs: number, event: () => void) =>
    scheduler.after(atMs - (scheduler.now() - epochMs), event);

  /** One command at a time for each account: nobody begins anew before the one before has ended. */
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

  /** With a refresh token, or with a code as the browser brings it. */
  const connect = (account: string, agedMs = 0) =>
    alone(account, async () => {
      // Who began to forget it ends that first.
      if (forgetting.has(account)) await forget(account);
      const { tokens } = service;
      const triedCode = codes.get(account);
      codes.delete(account);
      const isByCode = triedCode !== undefined || (phase.chaos && random() < 0.5);
      const code = triedCode ?? tokens.code(account);
      if (triedCode === undefined && isByCode) codes.set(account, code);
      const credential = isByCode
        ? { code: new Secret(code) }
        : { refreshToken: new Secret(tokens.authorize(account, agedMs)) };
      world.coverage.count(`person: connects by ${isByCode ? 'code' : 'refresh token'}`);
      await stages.connect(named('connect', account), account, credential);
      codes.delete(account);
      if (tokens.isWhole(account)) unconnected.delete(account);
    });

  async function forget(account: string): Promise<void> {
    // Also when it is only ended now: credentials that were put into its secret meanwhile are gone with it.
    unconnected.add(account);
    await stages.forget(named('forget', account), account);
    forgetting.delete(account);
    world.coverage.count('person: forgets');
  }

  const leave = (account: string, forgets: boolean) =>
    alone(account, async () => {
      unconnected.add(account);
      if (!forgets) {
        const stop = (await state.partnerAccounts.read(account))?.value.stop;
        if (stop && stop.reason !== 'disconnected')
          world.coverage.count('person: disconnects what is stopped');
        await stages.disconnect(named('disconnect', account), account);
        return world.coverage.count('person: disconnects');
      }
      const known = await state.partnerAccounts.read(account);
      if (!known) return;
      history.forgets(account, known.value.generation);
      forgetting.add(account);
      await forget(account);
    });

  async function authorizeAgain(account: string): Promise<void> {
    if (await editsSecretOfStopped(world, account)) unconnected.delete(account);
    else await connect(account);
  }

  async function setUp(): Promise<void> {
    phase.chaos = false;
    const [clientId, clientSecret] = [new Secret('client'), new Secret(`${secretMark}-application`)];
    await state.applicationSecret.write({ clientId, clientSecret });
    const { rotationMs } = plan.service;
    let left = plan.accounts.length;
    for (const account of plan.accounts) {
      quietly(connect(account, between(random, 0, rotationMs)).finally(() => (left -= 1)));
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
      if (letter && (await state.deadLetters.redrive(letter.id)) === 'redriven')
        world.coverage.count('queue: redriven');
    }
  }

  function revoke(account: string): void {
    service.tokens.revoke(account);
    world.coverage.count('service: revoked');
    unconnected.add(account);
    log.trace('service', () => `revokes ${account}`);
  }

  function narrow(account: string): void {
    service.tokens.narrow(account);
    unconnected.add(account);
    world.coverage.count('service: scope lost');
    log.trace('service', () => `takes a scope of ${account} back`);
  }

  async function paused(account: string, pause: PartnerAccount['pause']): Promise<void> {
    log.trace('a person', () => (pause ? `pauses ${account}` : `resumes ${account}`));
    world.coverage.count(`person: ${pause ? 'pauses' : 'resumes'}`);
    await changeAccount(state.partnerAccounts, account, ({ pause: _before, ...rest }) => ({
      ...rest,
      ...(pause ? { pause } : {}),
    }));
  }

  async function liftCircuit(): Promise<void> {
    const { pausedUntilMs, pauseReason } = await state.budgetStore.read();
    if (pauseReason !== 'circuit' || pausedUntilMs <= scheduler.now()) return;
    log.trace('a person', () => 'ends the circuit');
    world.coverage.count('person: ends the circuit');
    world.traffic.circuitClosed();
    await state.budgetStore.recover();
  }

  function begin(): void {
    for (const { key, atMs, account, advertId, status } of plan.changes) {
      atMoment(atMs, () => {
        const says = () => `${account}/${advertId ?? 'no advert'} becomes ${status ?? 'unknown'}`;
        if (!log.allows(key, says)) return;
        log.trace('service', says);
        if (advertId === undefined) service.listMalformed(account, 'no-advert', random);
        else service.change(account, advertId, status, streamOf(hashOf(key, plan.seed)));
      });
    }
    for (const { key, atMs } of plan.drains) {
      atMoment(atMs, () => log.allows(key, () => `${key} runs`) && quietly(stages.drain(key)));
    }
    for (const { key, atMs, account } of plan.rejections) {
      atMoment(
        atMs,
        () => log.allows(key, () => `${account}: cursors are rejected`) && service.rejectCursors(account),
      );
    }
    for (const { key, atMs } of plan.redrives) {
      atMoment(
        atMs,
        () => log.allows(key, () => 'dead letters are redriven in part') && quietly(redrive(0.6)),
      );
    }
    for (const { key, atMs, account, backMs, isOfScope } of plan.revocations) {
      atMoment(atMs, () => {
        if (!log.allows(key, () => `${account} ${isOfScope ? 'loses a scope' : 'is revoked'}`)) return;
        if (isOfScope) narrow(account);
        else revoke(account);
        scheduler.after(backMs, () => account !== plan.lostAccount && quietly(authorizeAgain(account)));
      });
    }
    let storings = 0;
    if (plan.revokesWhileStoring) {
      world.storing.add((process, account) => {
        if (!phase.chaos || account === plan.lostAccount || commanded.has(account) || random() >= 0.4) return;
        storings += 1;
        const says = () => `${account} is revoked while ${process.name} stores its pair`;
        if (!log.allows(`storing-${storings}`, says)) return;
        revoke(account);
        quietly(connect(account));
      });
    }
    for (const { key, atMs, account, backMs, forgets, revokedMs } of plan.departures) {
      if (account === plan.lostAccount) continue;
      atMoment(atMs, () => {
        if (!log.allows(key, () => `a person ${forgets ? 'forgets' : 'disconnects'} ${account}`)) return;
        if (revokedMs > 0) revoke(account);
        scheduler.after(revokedMs, () => {
          log.trace('a person', () => `${forgets ? 'forgets' : 'disconnects'} ${account}`);
          quietly(
            leave(account, forgets).finally(() => scheduler.after(backMs, () => quietly(connect(account)))),
          );
        });
      });
    }
    for (const { key, kind, account, fromMs, untilMs } of plan.troubles) {
      log.allows(key, () => `${kind} ${account} from ${fromMs / 1000} s to ${untilMs / 1000} s`);
    }
    for (const { key, account, atMs, forMs, endsMs } of plan.pauses) {
      atMoment(atMs, () => {
        if (!log.allows(key, () => `a person pauses ${account} for ${forMs / 1000} s`)) return;
        const until = scheduler.now() + forMs;
        void paused(account, { until, reason: 'a person', attempts: 0 });
        // Before its time, or just at it.
        scheduler.after(endsMs, () => void paused(account, undefined));
      });
    }
    for (const { key, atMs } of plan.lifts) {
      atMoment(atMs, () => log.allows(key, () => 'a person ends the circuit') && void liftCircuit());
    }
    const { lostAccount } = plan;
    if (lostAccount) atMoment(plan.chaosMs / 2, () => revoke(lostAccount));
    for (let worker = 1; worker <= plan.workers; worker += 1) keepWorking(worker);
    let sweeps = 0;
    every(30_000, () => quietly(stages.sweep(`sweep-${++sweeps}`)));
  }

  /** Nothing goes wrong any more: whatever was held up has to arrive now. */
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

  /** Messages of an account that nobody connects any more wait for ever, and in nobody's way. */
  const parkedOf = async (account: string | undefined): Promise<number> =>
    account === undefined ? 0 : (await state.parkingLot.oldest(account, Number.POSITIVE_INFINITY)).length;

  async function isIdle(): Promise<boolean> {
    const { waiting } = await state.bookKeeper.queue();
    if (waiting > (await parkedOf(plan.lostAccount))) return false;
    if ([...unconnected].some((account) => account !== plan.lostAccount)) return false;
    const feeds = await state.feedStates.list();
    return feeds.every(
      ({ partnerAccount, cursor }) =>
        partnerAccount === plan.lostAccount || service.isAtEnd(partnerAccount, cursor),
    );
  }

  /** Lets time pass, `atLeastMs` of it, until everything has arrived. @returns whether it has by `atMostMs` */
  async function untilIdle(atLeastMs: number, atMostMs: number): Promise<boolean> {
    const from = scheduler.now();
    for (;;) {
      const nextLook = Math.max(from + atLeastMs, scheduler.now() + 5_000);
      await scheduler.run(() => scheduler.now() >= nextLook);
      if (await isIdle()) return true;
      if (scheduler.now() - from >= atMostMs) return false;
    }
  }

  /** Two of the service's days with nothing but sweeps: a refresh token that is not the newest dies in them. */
  async function letDaysPass(): Promise<void> {
    over = true;
    const until = scheduler.now() + 2.2 * plan.service.rotationMs;
    let sweeps = 0;
    const sweep = () => {
      quietly(stages.sweep(`sweep-late-${++sweeps}`));
      scheduler.after(60_000, sweep);
    };
    sweep();
    await scheduler.run(() => scheduler.now() >= until);
  }

  async function stoppedAccounts(): Promise<string[]> {
    const accounts = await state.partnerAccounts.list();
    return accounts.filter((account) => stopOf(account)).map(({ name }) => name);
  }

  return { setUp, begin, calmDown, redrive, untilIdle, letDaysPass, stoppedAccounts };
}

/**
 * The people around the bridge: users who revoke, persons who connect, forget and give away accounts, and operators who
 * pause, resume, redrive and read again.
 */
import { believe, pause, resume } from '../../../operators/operations/pause.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { blamingHold, endOfHold } from '../../../shared/domain/holds.ts';
import { stopOf } from '../../../shared/domain/partner-account.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { Random } from '../model/random.ts';
import type { Auditor } from './auditor.ts';
import type { SimWorld } from './sim-world.ts';
import type { Stages } from './stages.ts';

export interface PeopleDeps {
  readonly world: SimWorld;
  readonly stages: Stages;
  readonly auditor: Auditor;
  readonly random: Random;
}

export function createPeople({ world, stages, auditor, random }: PeopleDeps) {
  const { scheduler, log, phase, service, state, history, users, commanded } = world;
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
  let commands = 0;

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
      if (!(error instanceof BridgeFault) || error.code !== 'other-user') return;
      users.unsure.delete(account);
      world.coverage.count('person: another user refused');
    }
  }

  /** The same user is connected by a second person, who does not know about the first one. */
  async function connectTwin(account: string): Promise<void> {
    if (handingOver.has(account)) return;
    const refreshToken = new Secret(service.tokens.authorize(users.currentOf(account)));
    try {
      await stages.connect(named('connect-twin', account), account, { refreshToken });
    } catch (error) {
      if (error instanceof BridgeFault && error.code === 'account-busy')
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
        const known = await state.partnerAccounts.read(account);
        if (known && (stopOf(known)?.reason ?? 'disconnected') !== 'disconnected')
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

  /** Starts no later than the position of reading, because a resync skips changes before its time. */
  async function readAgain(key: string, account: string, backMs: number): Promise<void> {
    const feeds = await state.feedStates.list();
    const feed = feeds.find((one) => one.partnerAccount === account);
    if (!feed) return;
    const { since, lastSuccess, resyncing } = feed;
    const readTo = lastSuccess === undefined || resyncing ? Date.parse(since) : lastSuccess - 60_000;
    await stages.resync(key, account, toInstant(Math.min(scheduler.now() - backMs, readTo)));
  }
  async function redrive(share: number): Promise<void> {
    const chosen = (await state.deadLetters.list()).filter(() => random() < share);
    for (const { partnerAccount, advertId } of chosen) auditor.setAside(`${partnerAccount}/${advertId}`);
    const { redriven } = await stages.redrive(`redrive-${++commands}`, chosen);
    if (redriven.length > 0) world.coverage.count('queue: redriven');
  }

  /** Of the adverts that fail. */
  async function believeSome(share: number): Promise<void> {
    for (const account of world.plan.accounts) {
      const failed = await state.aside.failed(account);
      const chosen = new Set(failed.map(({ message }) => message.advertId).filter(() => random() < share));
      for (const advertId of chosen) await believe(bridge, account, advertId);
      if (chosen.size > 0) world.coverage.count('operator: believes');
    }
  }

  async function drop(): Promise<void> {
    const chosen = await state.deadLetters.list();
    await state.deadLetters.drop(chosen);
    for (const { partnerAccount, advertId, message } of chosen) {
      if (message) history.judge(message.key, 'dropped');
      auditor.setAside(`${partnerAccount}/${advertId}`);
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

  const host = { kind: 'local' } as const;
  const bridge = { ...state, host, clock: scheduler, who: async () => 'operator' };

  async function pauseByOperator(account: string | undefined, forMs?: number): Promise<void> {
    const since = scheduler.now();
    const wanted = { who: 'operator', since, ...(forMs === undefined ? {} : { until: since + forMs }) };
    log.trace('an operator', () => `pauses ${account ?? 'the bridge'}`);
    // A forgotten name is unknown.
    await pause(bridge, account, { forMs });
    world.operator.paused(account, wanted);
    world.coverage.count(`operator: pauses ${account ? 'an account' : 'the bridge'}`);
  }

  async function resumeByOperator(account: string | undefined, early: boolean): Promise<void> {
    log.trace('an operator', () => `resumes ${account ?? 'the bridge'}${early ? ', early' : ''}`);
    world.operator.ended(account);
    const { servicePauseUntil, circuitEnded } = await resume(bridge, account, { early });
    if (early) world.traffic.circuitEndedByPerson();
    world.coverage.count('operator: resumes');
    if (servicePauseUntil !== undefined || circuitEnded)
      world.coverage.count('operator: ends what the service asked for');
  }

  /** A person knows that the service is ready, although it asked to wait or the circuit is open. */
  async function resumeEarly(): Promise<void> {
    const hold = blamingHold(await state.budgetStore.read());
    if (!hold || endOfHold(hold) <= scheduler.now()) return;
    if (hold.kind === 'circuit') world.coverage.count('person: ends the circuit');
    await resumeByOperator(undefined, true);
  }

  return {
    unconnected: unconnected as ReadonlySet<string>,
    connect,
    connectTwin,
    handOver,
    leave,
    readAgain,
    redrive,
    believe: believeSome,
    drop,
    revoke,
    narrow,
    pauseByOperator,
    resumeByOperator,
    resumeEarly,
  };
}

/** A process of the bridge: it has its own clock, may die at every call, and then does nothing any more. */
import type { Clock } from '../../../shared/domain/clock.ts';
import { type CallIncident, drawIncident } from '../model/incidents.ts';
import type { Model } from '../model/model.ts';
import { between, hashOf, type Random, streamOf } from '../model/random.ts';
import { epochMs } from '../model/scheduler.ts';

export interface Call<T> {
  readonly name: string;
  readonly allowed: readonly CallIncident[];
  readonly perform: () => Promise<T>;
  /** Performs a part of the call; `keeps` decides about each item. */
  readonly inPart?: (keeps: () => boolean) => Promise<T>;
  readonly says?: () => string;
}

export type Process = ReturnType<typeof createProcess>;

/** Represents any error that an SDK throws. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError';
}

export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** @param isSpared nothing goes wrong with the process itself, nor with its calls to AWS */
export function createProcess(model: Model, name: string, isSpared: boolean) {
  const { plan, scheduler, log, coverage } = model;
  const phase = isSpared ? { chaos: false } : model.phase;
  const seed = hashOf(name, hashOf('process', plan.seed));
  const random = streamOf(seed);
  const skewMs = Math.round((random() * 2 - 1) * plan.maxSkewMs);
  const deathWatchers: (() => void)[] = [];
  let calls = 0;
  let ids = 0;
  let dead = false;
  let frozenUntilMs = 0;

  function die(why: string): void {
    if (dead) return;
    dead = true;
    log.trace(name, () => `dies ${why}`);
    for (const react of deathWatchers) react();
  }

  /** How long it still stands still. */
  const frozenMs = (): number => Math.max(0, frozenUntilMs - scheduler.now());

  /** Runs what arrives at the process: never if it is dead, later if it is frozen. */
  function arrive(what: () => void): void {
    if (dead) return;
    const stillMs = frozenMs();
    if (stillMs > 0) scheduler.after(stillMs, () => arrive(what));
    else what();
  }

  /** Stops for a while: answers and timers arrive when it goes on. */
  function freeze(ms: number): void {
    if (dead) return;
    frozenUntilMs = scheduler.now() + ms;
    log.trace(name, () => `stands still for ${ms} ms`);
  }

  /** The random stream for the next call's decisions, with its key. */
  function nextCall() {
    calls += 1;
    return { key: `${name}#${calls}`, random: streamOf(seed, calls) };
  }

  function call<T>({ name: port, allowed, perform, inPart, says }: Call<T>): Promise<T> {
    if (dead) return never();
    const { key, random: draw } = nextCall();
    const rates = plan.ratesOfPorts.get(port) ?? plan.rates;
    const drawn = phase.chaos ? drawIncident(draw, rates, allowed) : undefined;
    const [requestMs, answerMs] = [between(draw, 0, 12), between(draw, 0, 12)];
    const lateMs = latenessMs(draw, plan.maxLateMs);
    const what = () => (says ? `${port} ${says()}` : port);
    const incident = drawn && log.allows(key, () => `${name}: ${drawn} at ${what()}`) ? drawn : undefined;
    if (incident) coverage.count(`call: ${incident}`);
    if (incident === 'crash-before') {
      die(`before ${port}`);
      return never();
    }
    log.trace(name, () => `${what()}${incident ? `  [${incident}]` : ''}`);

    return new Promise<T>((resolve, reject) => {
      const answer = (settle: () => void) =>
        scheduler.after(answerMs + (incident === 'answer-late' ? lateMs : 0), () => arrive(settle));
      const fail = (error: unknown) => answer(() => reject(error));
      const done = (value: T) => {
        log.trace(name, () => `  ${port} → ${shown(value)}`);
        if (incident === 'crash-after') return die(`after ${port}`);
        if (incident === 'answer-lost') return void fail(new RemoteError(`${port}: no answer`));
        answer(() => resolve(value));
      };
      const send = () =>
        scheduler.after(requestMs + (incident === 'late' ? lateMs : 0), () => {
          // A late call leaves the process late, so a dead process does not send it; a call already sent arrives in any
          // case.
          if (dead && incident === 'late') return;
          if (incident === 'refused') return void fail(new RemoteError(`${port}: refused`));
          const once = () => (incident === 'in-part' && inPart ? inPart(() => draw() < 0.5) : perform());
          const performed = incident === 'doubled' ? once().then(once, once) : once();
          performed.then(done, fail);
        });
      arrive(send);
    });
  }

  /** The error of a process's clock lasts as long as the process, or as the plan says. */
  function clockErrorMs(): number {
    const { offClock } = plan;
    const isOff = offClock && name.startsWith(offClock.processes);
    return skewMs + (isOff && scheduler.now() - epochMs < offClock.untilMs ? offClock.byMs : 0);
  }

  const clock: Clock = {
    now: () => scheduler.now() + clockErrorMs(),
    sleep(ms, signal) {
      if (dead) return never();
      if (signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = scheduler.after(ms, () => arrive(resolve));
        signal?.addEventListener('abort', () => {
          timer.cancelled = true;
          arrive(resolve);
        });
      });
    },
  };

  return {
    name,
    clock,
    random,
    newId: () => `${name}-${++ids}`,
    isDead: () => dead,
    die,
    freeze,
    wasFrozen: () => frozenUntilMs > 0,
    frozenMs,
    arrive,
    onDeath: (react: () => void): void => void deathWatchers.push(react),
    call,
    nextCall,
    trace: (text: () => string) => log.trace(name, text),
  };
}

/** Occasionally longer than any visibility timeout or lease of the simulation. */
const latenessMs = (random: Random, maxMs: number): number =>
  random() < 0.9 ? between(random, maxMs / 10, maxMs) : between(random, 20_000, 75_000);

function shown(value: unknown): string {
  const text = JSON.stringify(value instanceof Set ? [...value] : value) ?? 'nothing';
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

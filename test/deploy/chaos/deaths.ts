import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../../sandbox/state/faults.ts';
import { pick } from '../../../sandbox/state/random.ts';
import { batchDied, timedOut } from '../emulator/emulator-log.ts';
import { beginningsOfLong } from '../emulator/logs.ts';
import type { Stage } from './plan.ts';
import { endLeases, endLock, type Scene, timeoutSeconds } from './scene.ts';
import { asksService, endpointOf, type Stirred, stir } from './stir.ts';
import { send } from './workers.ts';

/** How long after its first request to the service a function is at work, about: the signal comes in this time. */
const workMs: Readonly<Record<Stage, number>> = { drain: 120, fanOut: 150, refreshToken: 60 };
/** For what the emulator has to say of a death. */
const toTellMs = 1_500;
/** From the freezing to the timeout, on a machine that is busy. */
const maxFrozenMs = (timeoutSeconds + 2) * 1000;

/** Kills a function in the middle of an invocation. @returns whether it was in one */
export async function kill(scene: Scene, stage: Stage): Promise<boolean> {
  const struck = await strike(scene, stage, 'SIGKILL');
  if (!struck) return false;
  const { answer, mark, at, account } = struck;
  const ended = await answer;
  const hit =
    stage === 'fanOut'
      ? await scene.log.says(batchDied(scene.functionNames.fanOut), mark, toTellMs)
      : 'error' in ended && ended.error.includes('Worker process died');
  await tidy(scene, stage, account, at);
  return hit;
}

/** Freezes a function in the middle of an invocation until the emulator ends it. @returns whether it was in one */
export async function freezeUntilTimeout(scene: Scene, stage: Stage): Promise<boolean> {
  const struck = await strike(scene, stage, 'SIGSTOP');
  if (!struck) return false;
  const { mark, at, account, answer, pids } = struck;
  const { endpoint } = scene.deployment.cloud;
  const hasTimedOut = await scene.log.says(timedOut(scene.functionNames[stage]), mark, maxFrozenMs);
  // The emulator kills it two seconds after that.
  for (const pid of pids) send(pid, hasTimedOut ? 'SIGKILL' : 'SIGCONT');
  await answer;
  const hit = hasTimedOut && (await beganBefore(endpoint, at));
  await tidy(scene, stage, account, at);
  return hit;
}

/** Whether one that timed out had begun before it was frozen: an idle one may be given its work afterwards. */
async function beganBefore(endpoint: string, at: number): Promise<boolean> {
  const timeoutMs = timeoutSeconds * 1000;
  for (const until = Date.now() + toTellMs + 2_000; Date.now() < until; await sleep(100)) {
    const begun = (await beginningsOfLong(endpoint, timeoutMs)).filter((each) => each > at - timeoutMs);
    if (begun.length > 0) return begun.some((each) => each <= at);
  }
  return false;
}

export interface Struck extends Stirred {
  readonly pids: readonly number[];
  /** Where the emulator's log ended before. */
  readonly mark: number;
  /** When the signal was sent, ms since 1970. */
  readonly at: number;
}

/** Gives the function work and sends it a signal some time after it has begun. */
export async function strike(
  scene: Scene,
  stage: Stage,
  signal: NodeJS.Signals,
): Promise<Struck | undefined> {
  const { workers, log, random, functionNames, deployment } = scene;
  const { journal, faults } = deployment.sandbox.control;
  await leaveOneWorker(scene, stage);
  const mark = await log.mark();
  const from = journal.nextIndex;
  const stirred = await stir(scene, stage);
  // Mostly early: what must not be torn apart is done in the first milliseconds after the service's answer.
  const waitMs = random() ** 2 * workMs[stage];
  const chosen = random();
  // Every other time the service is slow, so that some die before they have its answer.
  const slow = random() < 0.5 ? slowOnce(stage) : undefined;
  const id = slow && faults.add(slow);
  const looking = setInterval(() => void workers.look().catch(() => undefined), 100);
  const asked = await asksService(scene, stage, from).finally(() => clearInterval(looking));
  if (asked) await sleep(waitMs);
  if (id !== undefined) faults.remove(id);
  if (!asked) {
    await stirred.answer;
    return undefined;
  }
  // Looking takes longer than the moment lasts, so it is done again only for a worker that is new, or if all are meant.
  if (stage === 'refreshToken' || workers.of(functionNames[stage]).length === 0) await workers.look();
  const alive = workers.of(functionNames[stage]);
  // All of refresh-token's: the lock that the dead one holds is ended by us, so nobody may be at work under it.
  const pids = stage === 'refreshToken' || alive.length < 2 ? alive : [pick(() => chosen, alive)];
  const at = Date.now();
  for (const pid of pids) send(pid, signal);
  return { ...stirred, pids, mark, at };
}

/**
 * Of several workers only one or two are at work, and which ones cannot be seen: so there is to be one. The deaths of
 * the others are not counted, and told before the next ones are.
 */
async function leaveOneWorker({ workers, functionNames }: Scene, stage: Stage): Promise<void> {
  await workers.look();
  const alive = workers.of(functionNames[stage]);
  if (alive.length < 2) return;
  for (const pid of alive) send(pid, 'SIGKILL');
  await sleep(toTellMs / 3);
}

const slowOnce = (stage: Stage): Fault => ({
  endpoint: endpointOf[stage],
  kind: 'delay',
  delayMs: workMs[stage],
  count: 1,
});

/** Ends what the dead one holds, as time would. */
async function tidy(scene: Scene, stage: Stage, account: string, at: number): Promise<void> {
  if (stage === 'refreshToken') await endLock(scene, account, at);
  else await endLeases(scene);
}

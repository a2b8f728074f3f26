import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../../sandbox/state/faults.ts';
import { pick } from '../../../sandbox/state/random.ts';
import { batchDied, timedOut } from '../emulator/emulator-log.ts';
import { beginningsOfLong } from '../emulator/logs.ts';
import type { Stage } from './plan.ts';
import { endLeases, endLock, type Scene, timeoutSeconds } from './scene.ts';
import { asksService, endpointOf, type Stirred, stir } from './stir.ts';
import { send } from './workers.ts';

/**
 * Approximately how long a function works after its first request to the service; the signal is sent within this
 * time.
 */
const workMs: Readonly<Record<Stage, number>> = { drain: 120, fanOut: 150, refreshToken: 60 };
/** Time for the emulator to log a death. */
const toTellMs = 1_500;
/** From freezing to the timeout, on a busy machine. */
const maxFrozenMs = (timeoutSeconds + 2) * 1000;

/** Kills a function in the middle of an invocation. @returns whether the signal hit an invocation */
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

/**
 * Freezes a function in the middle of an invocation until the emulator ends it.
 *
 * @returns whether the signal hit an invocation
 */
export async function freezeUntilTimeout(scene: Scene, stage: Stage): Promise<boolean> {
  const struck = await strike(scene, stage, 'SIGSTOP');
  if (!struck) return false;
  const { mark, at, account, answer, pids } = struck;
  const { endpoint } = scene.deployment.cloud;
  const hasTimedOut = await scene.log.says(timedOut(scene.functionNames[stage]), mark, maxFrozenMs);
  // The emulator kills it two seconds later.
  for (const pid of pids) send(pid, hasTimedOut ? 'SIGKILL' : 'SIGCONT');
  await answer;
  const hit = hasTimedOut && (await beganBefore(endpoint, at));
  await tidy(scene, stage, account, at);
  return hit;
}

/** Whether the invocation that timed out began before the freeze: an idle worker may get its work afterwards. */
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
  /** Size of the emulator's log before. */
  readonly mark: number;
  /** When the signal was sent, ms since 1970. */
  readonly at: number;
}

/** Gives the function work, and sends it a signal some time after the work begins. */
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
  // Usually early: critical operations happen in the first milliseconds after the service's answer.
  const waitMs = random() ** 2 * workMs[stage];
  const chosen = random();
  // Half of the time the service is slow, so that some workers die before they get its answer.
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
  // Reading the process table takes longer than the critical moment lasts, so it is repeated only for a new worker,
  // or if all are targeted.
  if (stage === 'refreshToken' || workers.of(functionNames[stage]).length === 0) await workers.look();
  const alive = workers.of(functionNames[stage]);
  // All workers of refresh-token: this test ends the lock of the dead one, so no other may work under it.
  const pids = stage === 'refreshToken' || alive.length < 2 ? alive : [pick(() => chosen, alive)];
  const at = Date.now();
  for (const pid of pids) send(pid, signal);
  return { ...stirred, pids, mark, at };
}

/**
 * When there are several workers, it is unknown which one or two are working, so this leaves only one. The deaths of
 * the others are not counted, and the emulator logs them before the next ones.
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

/** Releases what the dead worker holds, as the passing of time would. */
async function tidy(scene: Scene, stage: Stage, account: string, at: number): Promise<void> {
  if (stage === 'refreshToken') await endLock(scene, account, at);
  else await endLeases(scene);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';
import { expectHeld } from '../stack/histories.ts';
import type { Shell } from '../stack/shell.ts';
import { type Alarm, isOn, type Meter } from './alarms.ts';

/** An alarm that is triggered on purpose and ended with its section of the runbook; or a section without an alarm. */
export interface Exercise {
  /** The alarm's name, without the stack's prefix; or the section's heading. */
  readonly alarm: string;
  readonly provokedBy: string;
  /** How many times faster than the clock time runs, for the alarm's periods and for values in seconds. Default 30. */
  readonly factor?: number;
  provoke(scene: Scene): Promise<void>;
  /**
   * Does what the schedule would do. Called repeatedly while waiting for the alarm, and once before anything is
   * wrong, which must not trigger the alarm.
   */
  meanwhile?(scene: Scene): Promise<void>;
  /** Follows Investigation and Resolution in the runbook. */
  mend(scene: Scene): Promise<void>;
}

/** What the exercises use. */
export interface Scene extends Pick<Shell, 'follow' | 'write'> {
  readonly deployment: Deployment;
  readonly meter: Meter;
  readonly alarms: ReadonlyMap<string, Alarm>;
  /** The partner account that the exercises use, and its adverts. */
  readonly account: string;
  readonly adverts: readonly string[];
}

/** Invokes the drain, as the schedule does once a minute; ignores the result. */
export async function runDrain({ deployment: { cloud, outputs } }: Scene): Promise<void> {
  await invoke(cloud, outputs.drainFunctionName).catch(() => undefined);
}

/** Checks after the repair that each advert that ever changed is published as it is. */
export const expectPublished = ({ deployment, account }: Scene): Promise<void> =>
  expectHeld(deployment.sandbox.control, account, deployment.subscriber, { all: false });

/** Time limit for an alarm to start or end: many times what it takes on a quiet machine. */
const maxWaitMs = 90_000;

/** @throws {Error} when the alarm was already on, does not start, or does not end */
export async function play(scene: Scene, exercise: Exercise): Promise<void> {
  const { alarms, meter } = scene;
  const { alarm: name, factor = 30 } = exercise;
  const alarm = alarms.get(name);
  if (!alarm) {
    await exercise.provoke(scene);
    await exercise.mend(scene);
    return;
  }
  const { Period, EvaluationPeriods } = alarm;
  const periodMs = 1000 * Period;
  const spanMs = Math.max(periodMs, (periodMs * EvaluationPeriods) / factor);
  let state = false;
  async function look(): Promise<boolean> {
    state = isOn(alarm as Alarm, await meter(alarm as Alarm, Date.now() - spanMs), factor, state);
    return state;
  }
  /** @param steadyMs minimum time in this state */
  async function waitFor(wanted: boolean, steadyMs = 0): Promise<void> {
    let sinceMs: number | undefined;
    for (const end = Date.now() + maxWaitMs; ; await sleep(250)) {
      if ((await look()) === wanted) sinceMs ??= Date.now();
      else sinceMs = undefined;
      if (sinceMs !== undefined && Date.now() - sinceMs >= steadyMs) return;
      if (Date.now() > end) throw new Error(`${name} is not ${wanted ? 'on' : 'off'} in time`);
      await exercise.meanwhile?.(scene);
    }
  }

  await waitFor(false);
  await exercise.meanwhile?.(scene);
  if (await look()) throw new Error(`${name} goes off although nothing is wrong`);
  await exercise.provoke(scene);
  await waitFor(true);
  await exercise.mend(scene);
  // An alarm over several periods may start and end depending on the boundaries of these periods; the wait covers all
  // of them.
  await waitFor(false, EvaluationPeriods === 1 ? 0 : periodMs / factor);
}

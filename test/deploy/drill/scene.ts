import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import type { Deployment } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';
import { type AlarmDefinition, type AlarmState, type Point, stateAt } from './alarm.ts';
import type { Meter } from './meter.ts';
import { commandsOf, type Page, pageOf } from './page.ts';
import type { Shell } from './shell.ts';

/**
 * One alarm that is triggered on purpose and ended with its section of the runbook; or a section without an alarm.
 */
export interface Exercise {
  /** The alarm's name, without the stack's prefix; or the section's heading. */
  readonly alarm: string;
  readonly isWithoutAlarm?: boolean;
  /** Text for the result table. */
  readonly provokedBy: string;
  readonly mendedBy: string;
  /**
   * How many times faster than the clock time runs, for the alarm's periods and for values in seconds. Default 30.
   */
  readonly factor?: number;
  provoke(scene: Scene): Promise<void>;
  /**
   * Does what the schedule would do. Called repeatedly while waiting for the alarm, and once before anything is
   * wrong, which must not trigger the alarm.
   */
  meanwhile?(scene: Scene): Promise<void>;
  /** Follows Investigation and Resolution in the runbook. */
  mend(scene: Scene): Promise<void>;
  /** Ends what {@link provoke} has started, even if the exercise failed. */
  cleanUp?(): Promise<void>;
}

/** The environment in which programs run. */
export interface Around {
  readonly env: Record<string, string>;
  readonly processes: Processes;
  readonly folder: string;
}

/** What the exercises use. */
export interface Scene {
  readonly deployment: Deployment;
  readonly around: Around;
  readonly shell: Shell;
  readonly meter: Meter;
  readonly page: Page;
  readonly alarms: ReadonlyMap<string, AlarmDefinition>;
  /** The partner account that the exercises use, and its adverts. */
  readonly account: string;
  readonly adverts: readonly string[];
  /** Names of the blocks that were followed. */
  readonly followed: Set<string>;
  /**
   * Follows a block of the runbook.
   *
   * @param values by placeholder
   * @param expected accepted exit codes; default: those of {@link Shell.run}
   * @returns its output, standard output and standard error
   */
  follow(
    block: string,
    values?: Readonly<Record<string, string>>,
    expected?: readonly number[],
  ): Promise<string>;
}

export async function setScene(parts: Omit<Scene, 'page' | 'followed' | 'follow'>): Promise<Scene> {
  const page = pageOf(await readFile(join(repository, 'docs/operate/runbook.md'), 'utf8'));
  const followed = new Set<string>();
  return {
    ...parts,
    page,
    followed,
    async follow(name, values = {}, expected) {
      const commands = commandsOf(page, name, values);
      followed.add(name);
      const { stdout, stderr } = await parts.shell.run(commands, expected);
      return `${stdout}${stderr}`;
    },
  };
}

/** Invokes the drain, as the schedule does once a minute; ignores the result. */
export async function runDrain({ deployment: { cloud, outputs } }: Scene): Promise<void> {
  await invoke(cloud, outputs.drainFunctionName).catch(() => undefined);
}

/** A row of the drill's table. */
export interface Row {
  readonly alarm: string;
  readonly provokedBy: string;
  readonly seen: string;
  readonly mendedBy: string;
  readonly seconds: number;
}

const defaultFactor = 30;
/** Time limit for an alarm to start or end: many times what it takes on a quiet machine. */
const maxWaitMs = 90_000;

/** @throws {Error} when the alarm was already on, does not start, or does not end */
export async function play(scene: Scene, exercise: Exercise): Promise<Row> {
  const { alarms, meter } = scene;
  const { alarm: name, provokedBy, mendedBy, factor = defaultFactor } = exercise;
  const begun = Date.now();
  const row = (seen: string): Row => ({
    ...{ alarm: name, provokedBy, seen, mendedBy },
    seconds: Math.round((Date.now() - begun) / 1000),
  });
  if (exercise.isWithoutAlarm) {
    await exercise.provoke(scene);
    await exercise.mend(scene);
    return row('no alarm');
  }
  const alarm = alarms.get(name);
  if (!alarm) throw new Error(`there is no alarm ${name}`);
  const definition = alarm;
  const periodMs = 1000 * alarm.metric.periodSeconds;
  const spanMs = (periodMs * alarm.evaluationPeriods) / factor;
  let state: AlarmState = 'OK';
  let latest: Point | undefined;

  async function look(): Promise<AlarmState> {
    const points = await meter.pointsOf(definition.metric, Date.now() - Math.max(periodMs, spanMs));
    latest = points.findLast(({ at }) => at > Date.now() - spanMs);
    state = stateAt(definition, points, Date.now(), factor, state);
    return state;
  }

  /** @param steadyMs minimum time in this state */
  async function waitFor(wanted: AlarmState, steadyMs = 0): Promise<void> {
    let sinceMs: number | undefined;
    for (const until = Date.now() + maxWaitMs; ; await sleep(250)) {
      if ((await look()) === wanted) sinceMs ??= Date.now();
      else sinceMs = undefined;
      if (sinceMs !== undefined && Date.now() - sinceMs >= steadyMs) return;
      if (Date.now() > until)
        throw new Error(`${name} is ${state}, not ${wanted}, after ${maxWaitMs / 1000} s`);
      await exercise.meanwhile?.(scene);
    }
  }

  await waitFor('OK');
  await exercise.meanwhile?.(scene);
  if ((await look()) !== 'OK') throw new Error(`${name} goes off although nothing is wrong`);
  await exercise.provoke(scene);
  await waitFor('ALARM');
  const seen = seenText(alarm, latest, factor, (Date.now() - begun) / 1000);
  await exercise.mend(scene);
  // An alarm over several periods may start and end depending on the boundaries of these periods; the wait covers all
  // of them.
  await waitFor('OK', alarm.evaluationPeriods === 1 ? 0 : periodMs / factor);
  return row(seen);
}

function seenText(
  { metric, threshold, missing, evaluationPeriods, datapointsToAlarm }: AlarmDefinition,
  latest: Point | undefined,
  factor: number,
  seconds: number,
): string {
  const value =
    latest === undefined ? `no data (missing: ${missing})` : `last ${Math.round(latest.value * 10) / 10}`;
  const often = evaluationPeriods === 1 ? '' : ` in ${datapointsToAlarm} of ${evaluationPeriods} periods`;
  return `${metric.statistic} of ${metric.name} > ${threshold}${often}: ${value}; time × ${factor}, after ${seconds.toFixed(0)} s`;
}

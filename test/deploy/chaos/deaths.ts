import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../../sandbox/state/faults.ts';
import { pick } from '../../../sandbox/state/random.ts';
import { waitingRenewal } from '../../../shared/domain/renewal.ts';
import { until } from '../../helpers/until.ts';
import { sizeOf, textAfter } from '../emulator/logs.ts';
import { processTable, send } from '../emulator/processes.ts';
import type { DrainReport } from '../stack/functions.ts';
import { ask, endLeases, type Scene, type Stage, visibilitySeconds } from './scene.ts';

/** Approximately how long a function works after its first request to the service; the signal is sent within. */
const workMs: Readonly<Record<Stage, number>> = { drain: 120, fanOut: 150, refreshToken: 60 };
/** Only one function uses each endpoint of the service, so a request shows which function is working. */
const endpointOf = { drain: 'feed', fanOut: 'advert', refreshToken: 'token' } as const;

/** The emulator's worker processes of a function: one, or more when invocations overlap. */
async function workersOf({ deployment: { outputs } }: Scene, stage: Stage): Promise<number[]> {
  const folder = `ministack-lambda-${outputs[`${stage}FunctionName`]}-`;
  return (await processTable()).filter(({ command }) => command.includes(folder)).map(({ pid }) => pid);
}

/** When there are several workers, it is unknown which one is working, and an idle one would freeze, too. */
async function leaveOneWorker(scene: Scene, stage: Stage): Promise<void> {
  const alive = await workersOf(scene, stage);
  if (alive.length < 2) return;
  for (const pid of alive) send(pid, 'SIGKILL');
  await sleep(500);
}

/** A refresh request as sent by drain and fan-out when the service has rejected their token, as it does from now on. */
async function refreshRequest(
  { deployment, partnerAccounts }: Scene,
  partnerAccount: string,
): Promise<object> {
  // Tokens that are rejected soon after each other are renewed ever more slowly.
  const waiting = waitingRenewal((await partnerAccounts.read(partnerAccount)) ?? {}, Date.now());
  if (waiting) await sleep(waiting.at + waiting.forMs - Date.now());
  deployment.sandbox.control.expireAccessTokens(partnerAccount);
  const account = await partnerAccounts.read(partnerAccount);
  const rejectedVersion = account?.token?.version ?? '';
  return { action: 'refresh', partnerAccount, rejectedVersion, because: 'token-rejected' };
}

interface Struck {
  /** Of the function that was invoked; for fan-out of the drain, which gave it its work. */
  readonly answer: Promise<unknown>;
  readonly pids: readonly number[];
  /** The partner account whose tokens are concerned. */
  readonly account: string;
  /** When the signal was sent, ms since 1970. */
  readonly at: number;
}

/** Gives the function work, and sends its workers a signal some time after the work begins. */
async function strike(scene: Scene, stage: Stage, signal: NodeJS.Signals): Promise<Struck | undefined> {
  const { random, names, weather, deployment } = scene;
  const { journal, faults } = deployment.sandbox.control;
  const account = pick(random, names);
  await leaveOneWorker(scene, stage);
  const from = journal.nextIndex;
  // Half of the time the service is slow, so that some workers die before they get its answer.
  const slow: Fault = { endpoint: endpointOf[stage], kind: 'delay', delayMs: workMs[stage], count: 1 };
  const id = random() < 0.5 ? faults.add(slow) : undefined;
  if (stage !== 'refreshToken') for (let count = 0; count < 3; count += 1) weather.change();
  const answer =
    stage === 'refreshToken' ? ask(scene, stage, await refreshRequest(scene, account)) : ask(scene, 'drain');
  let pids = await workersOf(scene, stage);
  const asks = () => journal.list(from).some(({ endpoint }) => endpoint === endpointOf[stage]);
  // As often as possible, because the awaited moment is over in milliseconds.
  const asked = await until('a request', asks, { withinMs: 6_000, everyMs: 1 }).catch(() => false);
  if (id !== undefined) faults.remove(id);
  if (!asked) {
    await answer;
    return undefined;
  }
  // Usually early: critical operations happen in the first milliseconds after the service's answer.
  await sleep(random() ** 2 * workMs[stage]);
  // Reading the process table takes longer than the critical moment lasts, so it is repeated only for a new worker.
  if (pids.length === 0) pids = await workersOf(scene, stage);
  const at = Date.now();
  // After a death, the mappings go on with new workers; while one is frozen, another has to be there to take over.
  const struck = (signal === 'SIGSTOP' ? pids.slice(0, 1) : pids).filter((pid) => send(pid, signal));
  return struck.length > 0 ? { answer, pids: struck, account, at } : undefined;
}

/** Kills a function in the middle of an invocation. @returns whether the signal hit one */
export async function kill(scene: Scene, stage: Stage): Promise<boolean> {
  const { logFile } = scene.deployment.emulator;
  const mark = await sizeOf(logFile);
  const struck = await strike(scene, stage, 'SIGKILL');
  if (!struck) return false;
  const { answer, account, at } = struck;
  const answered = await answer;
  if (stage !== 'refreshToken') await endLeases(scene);
  // Releases what the dead worker holds, as the passing of two minutes would.
  else {
    await scene.partnerAccounts.change(account, (row) =>
      row.refreshing && row.refreshing.startedAt <= at
        ? { ...row, refreshing: { ...row.refreshing, until: Date.now() } }
        : undefined,
    );
  }
  if (stage !== 'fanOut') return answered === undefined;
  // A batch has no answer, but the emulator logs its end.
  const isLogged = async () =>
    /ESM: Lambda .* failed .*Worker process died/.test(await textAfter(logFile, mark));
  return until('the death', isLogged, { withinMs: 1_500 }).catch(() => false);
}

/** Freezes a fan-out until its messages are visible again and another worker asks for them, then lets it continue. */
export async function outliveVisibility(scene: Scene): Promise<boolean> {
  const { journal } = scene.deployment.sandbox.control;
  const from = journal.nextIndex;
  const struck = await strike(scene, 'fanOut', 'SIGSTOP');
  if (!struck) return false;
  const asked = () => journal.list(from).filter(({ endpoint }) => endpoint === 'advert');
  const before = new Set(asked().map(({ path }) => path));
  const count = asked().length;
  await sleep(visibilitySeconds * 1000);
  const isAsked = () =>
    asked()
      .slice(count)
      .some(({ path }) => before.has(path));
  const hit = await until('another worker', isAsked, { withinMs: 3_000 }).catch(() => false);
  for (const pid of struck.pids) send(pid, 'SIGCONT');
  await struck.answer;
  return hit;
}

const endsOf = (answer: unknown): string[] =>
  ((answer ?? { polls: [] }) as DrainReport).polls.map(({ end }) => end);

/** Freezes a drain until its lease has expired and another has read the feeds, then lets it continue. */
export async function outliveLease(scene: Scene): Promise<boolean> {
  const struck = await strike(scene, 'drain', 'SIGSTOP');
  if (!struck) return false;
  await endLeases(scene);
  await ask(scene, 'drain');
  for (const pid of struck.pids) send(pid, 'SIGCONT');
  return endsOf(await struck.answer).includes('lease-lost');
}

/** @returns whether one waited while the other refreshed: both have the new token, of one request */
export async function refreshTwice(scene: Scene): Promise<boolean> {
  const { faults, journal } = scene.deployment.sandbox.control;
  const from = journal.nextIndex;
  const request = await refreshRequest(scene, pick(scene.random, scene.names));
  const id = faults.add({ endpoint: 'token', kind: 'delay', delayMs: 500, count: 3 });
  const both = [ask(scene, 'refreshToken', request), ask(scene, 'refreshToken', request)];
  const kinds = (await Promise.all(both)).map((answer) => (answer as { kind?: string } | undefined)?.kind);
  faults.remove(id);
  const sent = journal.list(from).filter(({ endpoint }) => endpoint === 'token');
  return kinds.every((kind) => kind === 'renewed') && sent.length === 1;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { pick } from '../../../sandbox/state/random.ts';
import { type DrainReport, invoke } from '../stack/functions.ts';
import type { Stage } from './plan.ts';
import { partnerAccounts, type Scene, type Traffic } from './scene.ts';

/** What came of an invocation: the function's answer, or the words in which it failed. */
export type Answer = { readonly answer: unknown } | { readonly error: string };

export const ask = (
  { deployment: { cloud }, functionNames }: Traffic,
  stage: Stage,
  event: object = {},
): Promise<Answer> =>
  invoke(cloud, functionNames[stage], event).then(
    (answer) => ({ answer }),
    (error: Error) => ({ error: error.message }),
  );

export const pollsOf = (answer: Answer): DrainReport['polls'] =>
  'answer' in answer ? (answer.answer as DrainReport).polls : [];

/** Each endpoint of the service is asked by one function alone: so a request tells which of them is at work. */
export const endpointOf = { drain: 'feed', fanOut: 'advert', refreshToken: 'token' } as const;

/** Changes for a fault that has to be tried again; its share of all changes is made before. */
const changesToStir = 3;

/** Something for the function to do, begun and not waited for. */
export interface Stirred {
  readonly answer: Promise<Answer>;
  /** Whose tokens it is about. */
  readonly account: string;
}

/** Gives the function work: the drain by invoking it, the fan-out by changes, refresh-token by a token that ran out. */
export async function stir(scene: Scene, stage: Stage): Promise<Stirred> {
  const { random, weather, accounts } = scene;
  const account = pick(random, accounts);
  if (stage !== 'refreshToken') {
    for (let count = 0; count < changesToStir; count += 1) weather.change();
    return { account, answer: ask(scene, 'drain') };
  }
  return { account, answer: ask(scene, stage, await refreshRequest(scene, account)) };
}

/** A refresh as drain and fan-out ask for one when the service has rejected their token; it does so from now on. */
export async function refreshRequest(scene: Scene, partnerAccount: string): Promise<object> {
  scene.deployment.sandbox.control.expireAccessTokens(partnerAccount);
  const account = await partnerAccounts(scene).read(partnerAccount);
  const rejectedVersion = account?.value.token?.version ?? '';
  return { action: 'refresh', partnerAccount, rejectedVersion, because: 'token-rejected' };
}

/** Waits until the function asks the service. @returns false when it does not in time */
export async function asksService(
  scene: Scene,
  stage: Stage,
  from: number,
  withinMs = 6_000,
): Promise<boolean> {
  const { journal } = scene.deployment.sandbox.control;
  const until = Date.now() + withinMs;
  for (let next = from; Date.now() < until; ) {
    const requests = journal.list(next);
    if (requests.some(({ endpoint }) => endpoint === endpointOf[stage])) return true;
    next = journal.nextIndex;
    // As short as can be: what is waited for is over in milliseconds.
    await sleep(1);
  }
  return false;
}

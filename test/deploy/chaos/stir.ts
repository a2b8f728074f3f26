import { setTimeout as sleep } from 'node:timers/promises';
import { pick } from '../../../sandbox/state/random.ts';
import { type DrainReport, invoke } from '../stack/functions.ts';
import type { Stage } from './plan.ts';
import { partnerAccounts, type Scene, type Traffic } from './scene.ts';

/** The result of an invocation: the function's answer, or its error message. */
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

/** Only one function uses each endpoint of the service, so a request shows which function is working. */
export const endpointOf = { drain: 'feed', fanOut: 'advert', refreshToken: 'token' } as const;

/** Number of changes for a fault that is tried again; its share of all changes was made before. */
const changesToStir = 3;

/** Work for a function, started and not awaited. */
export interface Stirred {
  readonly answer: Promise<Answer>;
  /** The partner account whose tokens are concerned. */
  readonly account: string;
}

/**
 * Gives the function work: invokes the drain, makes changes for the fan-out, or lets a token expire for
 * refresh-token.
 */
export async function stir(scene: Scene, stage: Stage): Promise<Stirred> {
  const { random, weather, accounts } = scene;
  const account = pick(random, accounts);
  if (stage !== 'refreshToken') {
    for (let count = 0; count < changesToStir; count += 1) weather.change();
    return { account, answer: ask(scene, 'drain') };
  }
  return { account, answer: ask(scene, stage, await refreshRequest(scene, account)) };
}

/**
 * A refresh request as sent by drain and fan-out when the service has rejected their token, which it does from now
 * on.
 */
export async function refreshRequest(scene: Scene, partnerAccount: string): Promise<object> {
  scene.deployment.sandbox.control.expireAccessTokens(partnerAccount);
  const account = await partnerAccounts(scene).read(partnerAccount);
  const rejectedVersion = account?.token?.version ?? '';
  return { action: 'refresh', partnerAccount, rejectedVersion, because: 'token-rejected' };
}

/** Waits until the function sends a request to the service. @returns false if it does not in time */
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
    // As short as possible, because the awaited moment is over in milliseconds.
    await sleep(1);
  }
  return false;
}

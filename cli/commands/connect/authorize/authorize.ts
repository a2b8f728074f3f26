/** The interactive part of the authorization-code flow (docs/partner-api.md, grant authorization_code). */
import type { Bridge, UserChoice } from '../../../../operations/bridge.ts';
import { CommandError } from '../../../../operations/errors.ts';
import type { ConnectedAccount } from '../../../../shared/contract/connect.ts';
import { type Clock, systemClock } from '../../../../shared/domain/clock.ts';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import { explained, type Place } from '../../../shared/explain.ts';
import { type Io, say } from '../../../shared/io.ts';
import { codeIn, isAnswerTo, newState } from './answer.ts';
import { type CallbackGuard, listenForCallback } from './listener.ts';
import { openBrowser } from './open-browser.ts';
import { connectedPage, failedPage } from './outcome.ts';
import { pastedLine, queryOf } from './pasted.ts';
import type { ListenAt } from './redirect-uri.ts';
import {
  answerArrivedText,
  lateText,
  noBrowserText,
  refusedCodeText,
  startText,
  strangerText,
} from './text.ts';

export interface Authorization {
  readonly user: UserChoice;
  /** Listens on loopback, or asks the user to paste the final address of a browser on another machine. */
  readonly way: { readonly listen: ListenAt } | { readonly paste: { readonly redirectUri: string } };
  readonly openBrowser: boolean;
  readonly timeoutSeconds: number;
}

/**
 * Lets a user authorize the application in a browser, and connects the partner account with the code in the answer. The
 * browser shows the outcome only after the account is connected.
 *
 * @throws {CommandError} if the user denies it, a signal interrupts it, it times out or is refused; then nothing is
 * stored
 */
export async function connectByCode(
  io: Io,
  { bridge, place }: { readonly bridge: Pick<Bridge, 'functions'>; readonly place: Place },
  authorization: Authorization,
  clock: Clock = systemClock,
): Promise<ConnectedAccount> {
  const { user, way, timeoutSeconds } = authorization;
  const state = newState();
  const listener =
    'listen' in way ? await listenForCallback(way.listen, clock, guardOf(io, state)) : undefined;
  const redirectUri = listener?.redirectUri ?? ('paste' in way ? way.paste.redirectUri : '');
  try {
    const url = await bridge.functions.authorizeUrl({ state, redirectUri });
    const { partnerAccount } = user;
    say(io, startText({ partnerAccount, url, redirectUri, timeoutSeconds, isPasted: !listener }));
    if (authorization.openBrowser && !(await openBrowser(url, io.env))) say(io, noBrowserText);
    const answer = await answerInTime(io, timeoutSeconds, clock, (over) =>
      listener ? listener.arrived : pastedAnswer(io, redirectUri, over),
    );
    const code = codeIn(answer, state);
    say(io, answerArrivedText);
    const account = await bridge.functions.connect({ ...user, code, redirectUri });
    await listener?.finish(connectedPage(account));
    return account;
  } catch (error) {
    const told = explained(forPerson(error), place);
    await listener?.finish(failedPage(user.partnerAccount, told));
    throw told;
  }
}

/**
 * Any page in the user's browser and any program on this machine can call the listener. So only an answer with the
 * state ends the wait, even if it is a denial.
 */
function guardOf(io: Io, state: string): CallbackGuard {
  let isSaid = false;
  return {
    isAnswer: (query) => isAnswerTo(query, state),
    onStranger() {
      if (!isSaid) say(io, strangerText);
      isSaid = true;
    },
  };
}

async function pastedAnswer(io: Io, redirectUri: string, over: AbortSignal) {
  const pasted = await pastedLine(io, over);
  return pasted === undefined ? undefined : queryOf(pasted, redirectUri);
}

/**
 * The answer of `wait`, unless a signal or the timeout comes first.
 *
 * @param wait its signal is aborted when the answer is no longer needed
 */
async function answerInTime(
  io: Io,
  timeoutSeconds: number,
  clock: Clock,
  wait: (over: AbortSignal) => Promise<URLSearchParams | undefined>,
): Promise<URLSearchParams> {
  const stopped = io.untilStopped();
  const arrived = new AbortController();
  const late = new AbortController();
  const time = clock
    .sleep(timeoutSeconds * 1000, AbortSignal.any([stopped, arrived.signal]))
    .then(() => late.abort());
  try {
    const answer = await Promise.race([wait(AbortSignal.any([stopped, late.signal])), time]);
    if (answer) return answer;
  } finally {
    arrived.abort();
  }
  throw new CommandError(
    stopped.aborted
      ? 'interrupted before the user had authorized. Nothing was stored'
      : lateText(timeoutSeconds),
  );
}

/** A rejected grant has another meaning for a code than for a refresh token. */
function forPerson(error: unknown): unknown {
  if (!(error instanceof PartnerError) || error.code !== 'grant-rejected') return error;
  return new CommandError(refusedCodeText, { cause: error });
}

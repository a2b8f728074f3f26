/** The authorization-code flow, as far as a person is part of it. @see partner-api.md §5.3 */

import { CommandError } from '../../../../operations/errors.ts';
import type { ConnectedAccount } from '../../../../shared/contract/connect.ts';
import { type Clock, systemClock } from '../../../../shared/domain/clock.ts';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import type { Bridge } from '../../../shared/bridge.ts';
import { explained, type Place } from '../../../shared/explain.ts';
import { type Io, say } from '../../../shared/io.ts';
import { codeIn, isAnswerTo, newState } from './answer.ts';
import { type CallbackGuard, type CallbackListener, listenForCallback } from './listener.ts';
import { openBrowser } from './open-browser.ts';
import { connectedPage, failedPage } from './outcome.ts';
import { pastedLine, queryOf } from './pasted.ts';
import type { ListenAt } from './redirect-uri.ts';

export interface Authorization {
  readonly partnerAccount: string;
  readonly since?: string;
  readonly sameUser?: boolean;
  readonly newUser?: boolean;
  /** Listens on loopback, or has the address pasted that a browser elsewhere ended at. */
  readonly way: { readonly listen: ListenAt } | { readonly paste: { readonly redirectUri: string } };
  readonly openBrowser: boolean;
  readonly timeoutSeconds: number;
}

/**
 * Has a user authorize the application in a browser, and connects the partner account with the code that comes of it.
 * The browser is shown what came of it only when all of that is done.
 *
 * @throws {CommandError} when it is denied, interrupted, late, or refused: nothing is stored then
 */
export async function connectByCode(
  io: Io,
  { bridge, place }: { readonly bridge: Bridge; readonly place: Place },
  authorization: Authorization,
  clock: Clock = systemClock,
): Promise<ConnectedAccount> {
  const { partnerAccount, way } = authorization;
  const state = newState();
  const listener = 'listen' in way ? await listenForCallback(way.listen, clock, guard(io, state)) : undefined;
  try {
    const account = await connectBy(io, bridge, { state, listener }, authorization, clock);
    await listener?.finish(connectedPage(account));
    return account;
  } catch (error) {
    const told = explained(forPerson(error), place);
    await listener?.finish(failedPage(partnerAccount, told));
    throw told;
  }
}

/**
 * Any page that the user's browser opens can lead it to the listener, and any program on this machine can call it: only
 * what has the state ends the waiting, a denial included.
 */
function guard(io: Io, state: string): CallbackGuard {
  let isSaid = false;
  return {
    isAnswer: (query) => isAnswerTo(query, state),
    onStranger() {
      if (!isSaid) {
        say(
          io,
          'Note: a browser came back with an answer that does not belong to this request: its state is missing or another ' +
            'one. It was refused; it may be of an earlier attempt, or of somebody else. Still waiting for the address above.',
        );
      }
      isSaid = true;
    },
  };
}

async function connectBy(
  io: Io,
  bridge: Bridge,
  { state, listener }: { readonly state: string; readonly listener: CallbackListener | undefined },
  authorization: Authorization,
  clock: Clock,
): Promise<ConnectedAccount> {
  const { partnerAccount, since, sameUser, newUser, way } = authorization;
  const redirectUri = listener?.redirectUri ?? ('paste' in way ? way.paste.redirectUri : '');
  const url = await bridge.authorizeUrl({ state, redirectUri });
  const answer = patient(io, authorization, clock, async (over) => {
    tell(io, authorization, url, redirectUri);
    if (authorization.openBrowser && !(await openBrowser(url, io.env))) {
      say(io, 'No browser could be opened here: open the address yourself.');
    }
    if (listener) return listener.arrived;
    const pasted = await pastedLine(io, over);
    return pasted === undefined ? undefined : queryOf(pasted, redirectUri);
  });
  const code = codeIn(await answer, state);
  say(io, 'The answer is here. Connecting …');
  return bridge.connect({
    partnerAccount,
    code,
    redirectUri,
    ...(since === undefined ? {} : { since }),
    ...(sameUser === undefined ? {} : { sameUser }),
    ...(newUser === undefined ? {} : { newUser }),
  });
}

/**
 * What `wait` brings, unless a signal or the end of the time comes first.
 *
 * @param wait is told when nobody waits for it any more
 */
async function patient(
  io: Io,
  { timeoutSeconds }: Authorization,
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
      : `no answer came within ${timeoutSeconds} s. Nothing was stored; run connect again, with --timeout-seconds N to wait longer`,
  );
}

function tell(io: Io, authorization: Authorization, url: string, redirectUri: string): void {
  const { partnerAccount, way, timeoutSeconds } = authorization;
  say(
    io,
    `To connect ${partnerAccount}, log in at the partner service as its user and allow the access:\n\n  ${url}\n`,
  );
  say(
    io,
    'listen' in way
      ? `Waiting for the browser to come back to ${redirectUri}, for ${timeoutSeconds} s. Ctrl-C ends it; nothing is stored before that.`
      : `The browser then ends at an address that begins with ${redirectUri}, and may say that it cannot be reached. ` +
          `Paste that address here, whole, within ${timeoutSeconds} s:`,
  );
}

/** That the grant is dead means something else for a code than for a refresh token. */
function forPerson(error: unknown): unknown {
  if (!(error instanceof PartnerError) || error.code !== 'grant-rejected') return error;
  return new CommandError(
    'the partner service refused the one-time code: it was used already, is too old, or was given for another ' +
      'application or redirect URI. Nothing was stored; run connect again',
    { cause: error },
  );
}

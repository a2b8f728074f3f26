/** The interactive part of the authorization-code flow (docs/partner-api.md, grant authorization_code). */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Bridge, UserChoice } from '../../operations/bridge.ts';
import { CommandError } from '../../operations/errors.ts';
import type { ConnectedAccount } from '../../shared/contract/invocations.ts';
import { type Clock, systemClock } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { explained, type Place } from '../shared/explain.ts';
import { type Io, say } from '../shared/io.ts';
import { type CallbackGuard, listenForCallback } from './listener.ts';
import { openBrowser } from './open-browser.ts';
import { connectedPage, failedPage } from './page.ts';
import type { ListenAt } from './redirect-uri.ts';

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
  let opened: Awaited<ReturnType<typeof openBrowser>> | undefined;
  try {
    const url = await bridge.functions.authorizeUrl({ state, redirectUri });
    const { partnerAccount } = user;
    say(io, startText({ partnerAccount, url, redirectUri, timeoutSeconds, isPasted: !listener }));
    opened = authorization.openBrowser ? await openBrowser(url, io.env) : undefined;
    if (opened?.isOpened === false) say(io, noBrowserText);
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
  } finally {
    await opened?.remove();
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
  if (!(error instanceof BridgeFault) || error.code !== 'grant-rejected') return error;
  return new CommandError(refusedCodeText, { cause: error });
}

interface Start {
  readonly partnerAccount: string;
  /** Address at which the user grants access. */
  readonly url: string;
  readonly redirectUri: string;
  readonly timeoutSeconds: number;
  readonly isPasted: boolean;
}

function startText({ partnerAccount, url, redirectUri, timeoutSeconds, isPasted }: Start): string {
  const start = `To connect ${partnerAccount}, log in to the partner service as its user and allow the access:\n\n  ${url}\n\n`;
  return !isPasted
    ? `${start}Waiting for the browser to come back to ${redirectUri}, for ${timeoutSeconds} s. Ctrl-C ends it; nothing is stored before.`
    : `${start}The browser then ends at an address that begins with ${redirectUri}, and may say that it cannot be reached. ` +
        `Paste that whole address here within ${timeoutSeconds} s:`;
}

const noBrowserText = 'No browser could be opened here: open the address yourself.';

const answerArrivedText = 'The answer has arrived. Connecting …';

const strangerText =
  'Note: a browser came back with an answer that does not belong to this request: its state is missing or different. It was ' +
  'refused; it may belong to an earlier attempt, or come from somebody else. Still waiting for the address above.';

const lateText = (timeoutSeconds: number): string =>
  `no answer came within ${timeoutSeconds} s. Nothing was stored; run connect again, with --timeout-seconds N to wait longer`;

const refusedCodeText =
  'the partner service refused the one-time code: it was used already, is too old, or was given for another application or ' +
  'redirect URI. Nothing was stored; run connect again';

/**
 * Reads the first non-blank line from standard input.
 *
 * @returns undefined once `signal` is aborted
 * @throws {CommandError} if standard input ends without such a line
 */

async function pastedLine(io: Io, signal: AbortSignal): Promise<string | undefined> {
  const lines = createInterface({ input: io.stdin, signal, crlfDelay: Number.POSITIVE_INFINITY });
  try {
    for await (const line of lines) if (line.trim() !== '') return line;
  } finally {
    lines.close();
  }
  if (signal.aborted) return undefined;
  throw new CommandError('standard input ended before an address was pasted. Nothing was stored');
}

/**
 * The query of the browser's final address, as the user pasted it.
 *
 * @throws {CommandError} if it is another address; the message does not repeat it, because it may contain the code
 */

function queryOf(pasted: string, redirectUri: string): URLSearchParams {
  const text = pasted.trim().replace(/^(["'<])(.*)(["'>])$/, '$2');
  const url = URL.parse(text);
  const wanted = new URL(redirectUri);
  if (url?.origin === wanted.origin && url.pathname === wanted.pathname) return url.searchParams;
  throw new CommandError(
    `the pasted text is not the address that the browser ends at, which begins with ${redirectUri}. Nothing was stored; run connect again`,
  );
}

/**
 * 256 random bits, for one authorization.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-10.12
 */
const newState = (): string => randomBytes(32).toString('base64url');

/** The characters that RFC 6749 §4.1.2 allows in a code, with the maximum length of a request line. */
const codePattern = /^[\x21-\x7e]{1,4096}$/;

/** Error codes of RFC 6749 §4.1.2.1 for which there is a remedy; docs/partner-api.md documents none. */
const refusals = new Map([
  ['access_denied', 'the user or the partner service denied access'],
  [
    'invalid_scope',
    'the partner service does not grant this application the requested scope. Request less (setting ' +
      'requiredScope, --required-scope), or ask the partner service to allow more',
  ],
  [
    'invalid_request',
    'the partner service rejects the request as invalid: is the redirect URI a registered Callback URL?',
  ],
  ['temporarily_unavailable', 'the partner service cannot answer now. Try again in a while'],
]);

/**
 * The one-time code in the partner service's answer. Messages repeat nothing from the answer except known error codes,
 * because any web page can send a browser here with any text.
 *
 * @param expected the state that was sent
 * @throws {CommandError} if the answer belongs to another request, is a refusal, or has no code
 * @see docs/partner-api.md, grant authorization_code
 */
function codeIn(query: URLSearchParams, expected: string): Secret {
  if (!isAnswerTo(query, expected)) {
    throw new CommandError(
      'the answer does not belong to this request: its state is missing or different. It may belong to an ' +
        'earlier attempt, or come from somebody else. Nothing was stored; run connect again, and use the address that it prints',
    );
  }
  const [error] = query.getAll('error');
  if (error !== undefined) throw refusal(error);
  const [code, ...others] = query.getAll('code');
  if (code === undefined || others.length > 0 || !codePattern.test(code)) {
    throw new CommandError(
      'the partner service sent neither a code nor an error. Nothing was stored; run connect again',
    );
  }
  return new Secret(code);
}

/** Whether `query` is the answer to the request with the state `expected`: it contains this state exactly once. */
function isAnswerTo(query: URLSearchParams, expected: string): boolean {
  const [state, ...others] = query.getAll('state');
  if (state === undefined || others.length > 0) return false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(state), digest(expected));
}

function refusal(error: string): CommandError {
  const known = refusals.get(error);
  const told = known ?? `the partner service refused it${/^[a-z_]{1,40}$/.test(error) ? ` (${error})` : ''}`;
  return new CommandError(`${told}. Nothing was stored`);
}

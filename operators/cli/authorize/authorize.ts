/** The interactive part of the authorization-code flow (docs/partner-api.md, grant authorization_code). */
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { aborted } from 'node:util';
import type { ConnectRequest } from '../../../functions/connect/connect-account.ts';
import type { ConnectedAccount } from '../../../functions/connect/requests.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { Bridge } from '../../operations/bridge.ts';
import { askFor, connectAccount } from '../../operations/connect-functions.ts';
import { failed } from '../../operations/errors.ts';
import { type Io, say } from '../shared/io.ts';
import { isAnswerTo, listenForCallback } from './listener.ts';
import { openBrowser } from './open-browser.ts';
import type { Way } from './redirect-uri.ts';

export interface Authorization {
  readonly user: Omit<ConnectRequest, 'refreshToken' | 'code' | 'redirectUri'>;
  readonly way: Way;
  readonly open: boolean;
  readonly timeoutSeconds: number;
}

/** @throws {CommandError} if the user denies it, a signal or the time ends it, or it is refused: nothing is stored */
export async function connectByCode(
  io: Io,
  bridge: Bridge,
  { user, way, open, timeoutSeconds }: Authorization,
): Promise<ConnectedAccount> {
  // 256 random bits: https://www.rfc-editor.org/rfc/rfc6749#section-10.12
  const state = randomBytes(32).toString('base64url');
  const onStranger = () => say(io, `Note: ${failed('stranger').says}. Still waiting for the address above.`);
  const listener = way.paste ? undefined : await listenForCallback(way, state, onStranger);
  const redirectUri = listener?.redirectUri ?? way.redirectUri;
  let removePage: Awaited<ReturnType<typeof openBrowser>> | undefined;
  try {
    const { url } = await askFor(bridge, 'authorize', { action: 'authorize', state, redirectUri });
    const stopped = io.untilStopped();
    const over = AbortSignal.any([stopped, AbortSignal.timeout(timeoutSeconds * 1000)]);
    say(
      io,
      `To connect ${user.partnerAccount}, log in to the partner service as its user and allow the access:\n\n  ${url}\n\n` +
        (listener
          ? `Waiting for the browser to come back to ${redirectUri}, for ${timeoutSeconds} s. Ctrl-C ends it; nothing is stored before.`
          : `The browser then ends at an address that begins with ${redirectUri}, and may say that it cannot be reached. ` +
            `Paste that whole address here within ${timeoutSeconds} s:`),
    );
    if (open) removePage = await openBrowser(url, io.env);
    const answer = await Promise.race([
      listener?.arrived ?? pastedAnswer(io, redirectUri, over),
      aborted(over, over).then(() => undefined),
    ]);
    if (!answer) throw stopped.aborted ? failed('interrupted') : failed('no-answer', { timeoutSeconds });
    const code = codeIn(answer, state);
    say(io, 'The answer has arrived. Connecting …');
    return await connectAccount(bridge, { ...user, code, redirectUri });
  } catch (error) {
    // A rejected grant has another meaning for a code than for a refresh token.
    if (!(error instanceof BridgeFault) || error.code !== 'grant-rejected') throw error;
    throw failed('code-refused', {}, { cause: error });
  } finally {
    await listener?.close();
    await removePage?.();
  }
}

/** The query of the address that the user pastes. An error does not repeat it, because it may contain the code. */
async function pastedAnswer(
  io: Io,
  redirectUri: string,
  over: AbortSignal,
): Promise<URLSearchParams | undefined> {
  const wanted = new URL(redirectUri);
  for await (const line of createInterface({ input: io.stdin, signal: over })) {
    const pasted = line.trim().replace(/^(["'<])(.*)(["'>])$/, '$2');
    if (pasted === '') continue;
    const url = URL.parse(pasted);
    if (url?.origin === wanted.origin && url.pathname === wanted.pathname) return url.searchParams;
    throw failed('other-address', { redirectUri });
  }
  if (over.aborted) return undefined;
  throw failed('no-address');
}

/** The characters that RFC 6749 §4.1.2 allows in a code, with the maximum length of a request line. */
const codePattern = /^[\x21-\x7e]{1,4096}$/;

/**
 * The one-time code in the partner service's answer. Messages repeat nothing from the answer except error codes, because
 * any web page can send a browser here with any text.
 *
 * @throws {CommandError} if the answer belongs to another request, is a refusal, or has no code
 */
function codeIn(query: URLSearchParams, state: string): Secret {
  if (!isAnswerTo(query, state)) throw failed('stranger');
  const error = query.get('error');
  if (error === 'access_denied') throw failed('access-denied');
  if (error === 'invalid_scope') throw failed('scope-not-granted');
  if (error !== null)
    throw failed('not-authorized', { error: /^[a-z_]{1,40}$/.test(error) ? error : undefined });
  const [code, ...others] = query.getAll('code');
  if (code !== undefined && others.length === 0 && codePattern.test(code)) return new Secret(code);
  throw failed('no-code');
}

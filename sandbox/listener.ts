import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonObject } from './http/request.ts';
import { routeOf } from './routes.ts';
import { type Answer, answerWith, html, RefusedError, reshaped } from './state/answer.ts';
import type { Clock } from './state/clock.ts';
import { type Fault, isCarriedOut } from './state/faults.ts';
import { type JournalEntry, withoutQuerySecrets } from './state/journal.ts';
import type { RateLimit } from './state/settings.ts';
import type { World } from './state/world.ts';

/**
 * Handles a request to the service: journal, faults, answer, latency, in this order.
 * @param onFault called with errors of the sandbox itself, which it answers with 500
 */
export function createServiceListener(world: World, onFault: (error: unknown) => void): RequestListener {
  return async (incoming, response) => {
    const { method = 'GET', url = '/' } = incoming;
    const [path = '', rawQuery = ''] = url.split(/\?(.*)/s, 2);
    const { endpoint, advertId, serve } = routeOf(method, path);
    const query = new URLSearchParams(rawQuery);
    const entry = world.journal.add({
      atMs: world.clock.now(),
      arrivedAtMs: performance.timeOrigin + performance.now(),
      method,
      path,
      query: withoutQuerySecrets(rawQuery),
      endpoint,
      user: null,
      grantType: null,
      status: null,
      fault: null,
    });
    try {
      const body = method === 'GET' || method === 'HEAD' ? '' : await text(incoming);
      const accessToken = bearerOf(incoming);
      entry.user = world.tokens.ownerOf(accessToken) ?? null;
      if (endpoint === 'token') noteTokenRequest(world, entry, body);

      const struck = { endpoint, advertId, user: entry.user, hasCursor: query.has('cursor') };
      const fault = world.faults.strike(struck);
      entry.fault = fault?.kind ?? null;
      const request = { method, query, headers: incoming.headers, body, advertId, accessToken };
      const isReal = fault === undefined || isCarriedOut(fault);
      const isForTokens = endpoint === 'token' || endpoint === 'authorize';
      const shape = isForTokens ? 'mixed' : world.settings.assumptions.errorShape;
      const refusal = (refused: Answer) => reshaped(refused, shape, path);
      const answer = isReal ? realAnswer(world, () => serve(world, request), refusal) : standInFor(fault);

      const delayMs = world.settings.latencyMs + (fault?.delayMs ?? 0);
      if (delayMs > 0) await sleep(delayMs, undefined, { ref: false });
      if (send(response, world.clock, answer, fault)) entry.status = answer.status;
    } catch (error) {
      if (incoming.errored) return;
      onFault(error);
      entry.status = 500;
      if (!response.headersSent) send(response, world.clock, answerWith(500, { error: 'sandbox_fault' }));
    }
  };
}

function realAnswer(world: World, serve: () => Answer, refusal: (refused: Answer) => Answer): Answer {
  const { rateLimit } = world.settings.assumptions;
  const waitMs = rateLimit === null ? undefined : world.rateLimiter.waitMs(rateLimit);
  if (waitMs !== undefined) return rateLimited(rateLimit?.status, waitMs);
  try {
    return serve();
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return refusal(error.answer);
  }
}

function rateLimited(status: RateLimit['status'] | undefined, waitMs: number): Answer {
  if (status === 403) return html(status, '<html><body>Forbidden</body></html>');
  const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)) };
  return answerWith(429, { message: 'Too many requests' }, headers);
}

function bearerOf({ headers: { authorization = '' } }: IncomingMessage): string {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/** Records whose token request it is, for the journal and for faults limited to one user. */
function noteTokenRequest(world: World, entry: JournalEntry, body: string): void {
  const { grant_type: grantType, refresh_token: refreshToken } = jsonObject(body) ?? {};
  if (typeof grantType === 'string') entry.grantType = grantType;
  if (typeof refreshToken === 'string') entry.user = world.tokens.ownerOf(refreshToken) ?? null;
}

/** The answer that a fault sends instead of the real one. */
function standInFor({ kind, status = 200, body, headers }: Fault): Answer {
  switch (kind) {
    case 'html':
      return html(status, '<html><body><h1>We will be back soon</h1></body></html>');
    case 'invalid-json':
      return answerWith(status, '{"data":[');
    case 'wrong-shape':
      return answerWith(status, body ?? { data: { unexpected: true } });
    default:
      return answerWith(status, body, headers);
  }
}

/** Sends as much of an answer as the fault lets through. @returns whether its status was sent */
export function send(response: ServerResponse, clock: Clock, answer: Answer, fault?: Fault): boolean {
  switch (fault?.kind) {
    case 'hang': // The connection stays open and silent until either side closes it.
      return false;
    case 'reset':
    case 'lost-answer':
      response.socket?.resetAndDestroy();
      return false;
  }
  const body = Buffer.from(answer.body);
  const date = new Date(clock.now()).toUTCString();
  const general = { date, 'content-type': 'application/json', 'content-length': body.length };
  response.writeHead(answer.status, { ...general, ...answer.headers });
  // Destroyed in the callback: otherwise this half of the answer would be lost together with the connection.
  if (fault?.kind === 'cut-off') response.write(body.subarray(0, body.length >> 1), () => response.destroy());
  else response.end(body);
  return true;
}

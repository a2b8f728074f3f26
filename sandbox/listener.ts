import type { IncomingMessage, RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCarriedOut, playOnWire, standInFor } from './control/fault-player.ts';
import { jsonObject, type ServiceRequest } from './http/request.ts';
import { readBody, send } from './http/wire.ts';
import { answerRequest, findTarget } from './routes.ts';
import { type Answer, errorAnswer, json, RefusedError } from './state/answer.ts';
import { type JournalEntry, withoutSecrets } from './state/journal.ts';
import type { World } from './state/world.ts';

/**
 * Handles a request to the service: journal, faults, answer, latency, in this order.
 * @param onFault called with errors of the sandbox itself, which it answers with 500
 */
export function createServiceListener(world: World, onFault: (error: unknown) => void): RequestListener {
  return async (incoming, response) => {
    const { method = 'GET', url = '/' } = incoming;
    const [path = '', rawQuery = ''] = url.split(/\?(.*)/s, 2);
    const target = findTarget(method, path);
    const { endpoint, advertId } = target;
    const query = new URLSearchParams(rawQuery);
    const entry = world.journal.add({
      atMs: world.clock.now(),
      arrivedAtMs: performance.timeOrigin + performance.now(),
      method,
      path,
      query: withoutSecrets(rawQuery),
      endpoint,
      user: null,
      grantType: null,
      status: null,
      fault: null,
    });
    try {
      const body = method === 'GET' || method === 'HEAD' ? '' : await readBody(incoming);
      const accessToken = world.tokens.accessToken(bearerOf(incoming));
      entry.user = accessToken?.grant.user ?? null;
      if (endpoint === 'token') noteTokenRequest(world, entry, body ?? '');

      const struck = { endpoint, advertId, user: entry.user, hasCursor: query.has('cursor') };
      const fault = world.faults.strike(struck);
      entry.fault = fault?.kind ?? null;
      const request = { method, query, headers: incoming.headers, body, ...target, accessToken };
      const isReal = fault === undefined || isCarriedOut(fault);
      const answer = isReal ? realAnswer(world, request) : standInFor(fault);

      const delayMs = world.settings.latencyMs + (fault?.delayMs ?? 0);
      if (delayMs > 0) await sleep(delayMs, undefined, { ref: false });
      if (fault?.kind === 'cut-off') entry.status = answer?.status ?? null;
      if (fault !== undefined && playOnWire(fault, response, world.clock, answer)) return;
      if (answer === undefined) return;
      entry.status = answer.status;
      send(response, world.clock, answer);
    } catch (error) {
      if (incoming.errored) return;
      onFault(error);
      entry.status = 500;
      if (!response.headersSent) send(response, world.clock, json(500, { error: 'sandbox_fault' }));
    }
  };
}

function realAnswer(world: World, request: ServiceRequest): Answer {
  const { rateLimit, errorShapes } = world.settings.assumptions;
  const limited = rateLimit === null ? undefined : world.limitRate(rateLimit);
  if (limited !== undefined) return limited;
  try {
    return answerRequest(world, request);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { ...errorAnswer(errorShapes[error.group], error.error), headers: error.headers };
  }
}

function bearerOf({ headers: { authorization = '' } }: IncomingMessage): string {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/** Records whose token request it is, for the journal and for faults limited to one user. */
function noteTokenRequest(world: World, entry: JournalEntry, body: string): void {
  const { grant_type: grantType, refresh_token: refreshToken } = jsonObject(body) ?? {};
  if (typeof grantType === 'string') entry.grantType = grantType;
  if (typeof refreshToken === 'string') entry.user = world.tokens.ownerOfRefreshToken(refreshToken) ?? null;
}

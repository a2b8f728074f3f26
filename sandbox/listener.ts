import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { isCarriedOut, playOnWire, standInFor } from './control/fault-player.ts';
import { answerRequest, findTarget, type Target } from './dispatch.ts';
import { errorAnswer } from './http/errors.ts';
import { jsonObject, type ServiceRequest } from './http/request.ts';
import { type AnswerWriter, readBody } from './http/wire.ts';
import type { Answer } from './state/answer.ts';
import { type JournalEntry, withoutSecrets } from './state/journal.ts';
import { fingerprint } from './state/tokens.ts';
import type { World } from './state/world.ts';

/**
 * Handles a request to the service: journal, faults, answer, latency, in this order.
 * @param onFault called with errors of the sandbox itself, which it answers with 500
 */
export function createServiceListener(
  world: World,
  writer: AnswerWriter,
  onFault: (error: unknown) => void,
): RequestListener {
  return (incoming, response) => {
    const method = incoming.method ?? 'GET';
    const [path, rawQuery] = splitUrl(incoming.url ?? '/');
    const target = findTarget(method, path);
    const entry = world.journal.add({
      atMs: world.clock.now(),
      arrivedAtMs: performance.timeOrigin + performance.now(),
      method,
      path,
      query: withoutSecrets(rawQuery),
      endpoint: target.endpoint,
      user: null,
      grantType: null,
      tokenFingerprint: null,
      status: null,
      fault: null,
    });
    const guard = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        onFault(error);
        entry.status = 500;
        if (!response.headersSent) writer.send(response, { status: 500, body: '{"error":"sandbox_fault"}' });
      }
    };
    const exchange: Exchange = { incoming, response, method, path, rawQuery, target, entry, guard };
    const proceed = (body: string | undefined): void => guard(() => respond(world, writer, exchange, body));
    if (method === 'GET' || method === 'HEAD') proceed('');
    else readBody(incoming, proceed);
  };
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  readonly target: Target;
  readonly entry: JournalEntry;
  /** Runs a step, and answers 500 if it throws. */
  readonly guard: (step: () => void) => void;
}

function respond(world: World, writer: AnswerWriter, exchange: Exchange, body: string | undefined): void {
  const { response, target, entry, method, path } = exchange;
  const query = new URLSearchParams(exchange.rawQuery);
  const { headers } = exchange.incoming;
  const accessToken = world.tokens.accessToken(bearerOf(headers.authorization));
  entry.user = accessToken?.grant.user ?? null;
  entry.tokenFingerprint = accessToken?.fingerprint ?? null;
  if (target.endpoint === 'token') noteTokenRequest(world, entry, body ?? '');

  const fault = world.faults.strike({
    endpoint: target.endpoint,
    user: entry.user,
    advertId: target.advertId,
    hasCursor: query.has('cursor'),
  });
  entry.fault = fault?.kind ?? null;

  const request: ServiceRequest = { method, path, query, headers, body: body ?? '', ...target, accessToken };
  let answer: Answer | undefined;
  if (fault === undefined || isCarriedOut(fault))
    answer = realAnswer(world, request, target, body === undefined);
  else answer = standInFor(fault);

  const delayMs = world.settings.latencyMs + (fault?.kind === 'delay' ? fault.delayMs : 0);
  const finish = (): void => {
    if (
      fault !== undefined &&
      (fault.kind === 'cut-off' || fault.kind === 'lost-answer' || answer === undefined)
    ) {
      entry.status = fault.kind === 'cut-off' ? (answer?.status ?? null) : fault.kind === 'huge' ? 200 : null;
      playOnWire(fault, response, writer, answer);
    } else if (answer !== undefined) {
      entry.status = answer.status;
      writer.send(response, answer);
    }
  };
  if (delayMs > 0) setTimeout(exchange.guard, delayMs, finish).unref();
  else finish();
}

function realAnswer(world: World, request: ServiceRequest, target: Target, bodyTooLong: boolean): Answer {
  const { rateLimit, errorShapes } = world.settings.assumptions;
  const refused = rateLimit === null ? undefined : world.rateLimiter.check(rateLimit);
  if (refused !== undefined) return refused;
  if (bodyTooLong) {
    return errorAnswer(errorShapes.notFound, {
      status: 413,
      code: 'too_large',
      message: 'The body is too long.',
    });
  }
  return answerRequest(world, request, target);
}

/** Records whose token request it is, for the journal and for faults limited to one user. */
function noteTokenRequest(world: World, entry: JournalEntry, body: string): void {
  const fields = jsonObject(body);
  if (typeof fields?.grant_type === 'string') entry.grantType = fields.grant_type;
  if (typeof fields?.refresh_token !== 'string') return;
  entry.user = world.tokens.ownerOfRefreshToken(fields.refresh_token) ?? null;
  entry.tokenFingerprint = fingerprint(fields.refresh_token);
}

function bearerOf(authorization: string | undefined): string {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
}

function splitUrl(url: string): [path: string, query: string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

import * as v from 'valibot';
import { checked, instant, partnerAccountName, ShapeError } from '../contract/checks.ts';
import { generation } from '../contract/events.ts';
import { PartnerError } from '../domain/faults.ts';
import { Secret } from '../domain/secret.ts';
import { rejections } from '../ports/token-source.ts';
import type { Runtime } from './middleware.ts';

/** A secret on its way in: from here on it does not show itself. */
const secret = v.pipe(
  v.string(),
  v.minLength(1, 'expected a non-empty string'),
  v.transform((value) => new Secret(value)),
);
const action = <const A extends string>(name: A) => ({
  action: v.literal(name),
  partnerAccount: partnerAccountName,
});
const since = v.optional(instant);
const sameUser = v.optional(v.boolean());
const newUser = v.optional(v.boolean());
const redirectUri = v.pipe(v.string(), v.url('expected an absolute URL'));

/** What drain and fan-out may ask for. A function that answered more would let them connect and forget accounts. */
const refreshRequest = v.object({
  ...action('refresh'),
  rejectedVersion: v.string(),
  because: v.picklist(rejections),
});

/** What an operator may ask for, at the command line. */
const connectRequest = v.variant('action', [
  v.object({ action: v.literal('authorize'), state: v.pipe(v.string(), v.minLength(16)), redirectUri }),
  v.object({ ...action('connect'), refreshToken: secret, since, sameUser, newUser }),
  v.object({
    ...action('connect'),
    code: secret,
    redirectUri: v.optional(redirectUri),
    since,
    sameUser,
    newUser,
  }),
  v.object({ ...action('disconnect'), forget: v.optional(v.boolean(), false) }),
  v.object({ ...action('forget'), generation }),
  v.object({ action: v.literal('check') }),
]);

export type RefreshTokenRequest = v.InferOutput<typeof refreshRequest> | { readonly action: 'sweep' };

/**
 * What the refresh-token function is asked for. The schedule's event, or `{}`, names no action: that is the sweep.
 *
 * @throws {ShapeError} without a word of the event
 */
export function refreshTokenRequest(event: unknown): RefreshTokenRequest {
  const named = typeof event === 'object' && event !== null && 'action' in event;
  return named ? checked(refreshRequest, event, 'event of refresh-token') : { action: 'sweep' };
}

export interface RefreshTokenStage {
  sweep(options: Runtime): Promise<object>;
  refresh(request: v.InferOutput<typeof refreshRequest>, options: Runtime): Promise<object>;
}

/**
 * Does what the event asks the refresh-token function for. The answer is data without secrets.
 *
 * @throws {ShapeError} for an event that is none of the contract, such as one of {@link answerConnect}
 */
export async function answerRefreshToken(
  stage: RefreshTokenStage,
  event: unknown,
  options: Runtime,
): Promise<object> {
  const request = refreshTokenRequest(event);
  return request.action === 'sweep' ? stage.sweep(options) : stage.refresh(request, options);
}

export type ConnectFunctionRequest = v.InferOutput<typeof connectRequest>;

/**
 * What the connect function is asked for.
 *
 * @throws {ShapeError} without a word of the event
 */
export const connectFunctionRequest = (event: unknown): ConnectFunctionRequest =>
  checked(connectRequest, event, 'event of connect');

type Of<A extends ConnectFunctionRequest['action']> = Extract<ConnectFunctionRequest, { action: A }>;

/** What operators ask for; functions/refresh-token has the use cases. */
export interface ConnectStage {
  authorize(request: Of<'authorize'>): Promise<object>;
  connect(request: Of<'connect'>, options: Runtime): Promise<object>;
  disconnect(partnerAccount: string): Promise<boolean>;
  beginForget(partnerAccount: string): Promise<number | undefined>;
  endForget(partnerAccount: string, generation: number): Promise<void>;
  check(options: Runtime): Promise<object>;
}

/**
 * Does what the event asks for. The answer is data without secrets: what `authorize` or `connect` was refused for is
 * one (`{"kind":"refused","fault","reason"}`), for the person at the command line.
 *
 * @throws {ShapeError} for an event that is none of the contract
 */
export async function answerConnect(stage: ConnectStage, event: unknown, options: Runtime): Promise<object> {
  const request = connectFunctionRequest(event);
  switch (request.action) {
    case 'authorize':
      return stage.authorize(request).then((answer) => ({ kind: 'authorize', ...answer }), refusal);
    case 'connect':
      return stage
        .connect(request, options)
        .then((connected) => ({ kind: 'connected', ...connected }), refusal);
    case 'check':
      return stage.check(options).then((accepted) => ({ kind: 'accepted', ...accepted }), refusal);
    case 'disconnect': {
      const { partnerAccount, forget } = request;
      if (!forget)
        return stage.disconnect(partnerAccount).then((known) => ({ kind: 'disconnected', known }), refusal);
      return stage
        .beginForget(partnerAccount)
        .then((generation) => ({ kind: 'forgetting', generation: generation ?? null }), refusal);
    }
    case 'forget':
      return stage
        .endForget(request.partnerAccount, request.generation)
        .then(() => ({ kind: 'forgotten' }), refusal);
  }
}

/** Faults with words of their own, which hold no secret, are answers; anything else fails the invocation. */
function refusal(error: unknown): object {
  if (error instanceof PartnerError || error instanceof ShapeError) {
    return { kind: 'refused', fault: error.code, reason: error.message };
  }
  throw error;
}

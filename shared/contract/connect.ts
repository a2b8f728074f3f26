/** What operators ask the connect function for, at the command line, and what it answers. */
import * as v from 'valibot';
import { instant, partnerAccountName } from './checks.ts';
import { generation } from './events.ts';

const action = <const A extends string>(name: A) => ({
  action: v.literal(name),
  partnerAccount: partnerAccountName,
});
const secret = v.pipe(v.string(), v.minLength(1, 'expected a non-empty string'));
const redirectUri = v.pipe(v.string(), v.url('expected an absolute URL'));
const connectOptions = {
  ...action('connect'),
  /** Where reading of a new feed begins. Default: now by the service's clock, less the overlap. Ignored for a known one. */
  since: v.optional(instant),
  /** For a known name: the same user is taken to have authorized. Default false: another user is refused. */
  sameUser: v.optional(v.boolean()),
  /** Begins a new generation: nothing of the user that a known name had is used any more. Default false. */
  newUser: v.optional(v.boolean()),
};

export const connectEvent = v.variant('action', [
  v.object({ action: v.literal('authorize'), state: v.pipe(v.string(), v.minLength(16)), redirectUri }),
  v.object({ ...connectOptions, refreshToken: secret }),
  v.object({ ...connectOptions, code: secret, redirectUri: v.optional(redirectUri) }),
  v.object({ ...action('disconnect'), forget: v.optional(v.boolean(), false) }),
  v.object({ ...action('forget'), generation }),
  v.object({ action: v.literal('check') }),
]);
/** As it is sent: a refresh token or a code in it is plain text. */
export type ConnectEvent = v.InferInput<typeof connectEvent>;

/** A partner account, connected. */
const connectedAccount = v.object({
  partnerAccount: v.string(),
  generation: v.number(),
  scope: v.string(),
  tokenExpiresAt: v.string(),
  /** Reading begins anew: no cursor, no history. False: the name was known already, its cursor and generation stay. */
  isNew: v.boolean(),
  /** For a known name: why it could not be told whether the same user authorized; absent where it was told. */
  userUnverified: v.exactOptional(v.string()),
  /** What the first request for the feed brought. */
  feed: v.variant('kind', [
    v.object({ kind: v.literal('read'), listed: v.number(), hasMore: v.boolean() }),
    v.object({ kind: v.literal('failed'), fault: v.string(), reason: v.string() }),
  ]),
});
export type ConnectedAccount = Readonly<v.InferOutput<typeof connectedAccount>>;

/** The service accepts the application's credentials. */
const acceptedApplication = v.object({
  scope: v.string(),
  /** How far the service's clock is ahead of the function's; absent where the service does not tell. */
  clockOffSeconds: v.exactOptional(v.number()),
});
export type AcceptedApplication = v.InferOutput<typeof acceptedApplication>;

/** What the connect function answers; one of each kind but `refused` for each action. */
export const connectAnswers = {
  authorize: v.object({ kind: v.literal('authorize'), url: v.string() }),
  connected: v.object({ kind: v.literal('connected'), ...connectedAccount.entries }),
  disconnected: v.object({ kind: v.literal('disconnected'), known: v.boolean() }),
  /** The first half of forgetting is done: histories up to this generation may be removed. `null`: not a known name. */
  forgetting: v.object({ kind: v.literal('forgetting'), generation: v.nullable(v.number()) }),
  forgotten: v.object({ kind: v.literal('forgotten') }),
  accepted: v.object({ kind: v.literal('accepted'), ...acceptedApplication.entries }),
  /** `fault` is one of shared/domain/faults.ts, or `wrong-shape`; `reason` is for a person and holds no secret. */
  refused: v.object({ kind: v.literal('refused'), fault: v.string(), reason: v.string() }),
} as const;
export type ConnectAnswerKind = keyof typeof connectAnswers;
export type ConnectAnswer<K extends ConnectAnswerKind = ConnectAnswerKind> = {
  [Kind in K]: v.InferOutput<(typeof connectAnswers)[Kind]>;
}[K];

/** Requests of the command line to the connect function, and its answers, without tokens. */
import * as v from 'valibot';
import { instant, partnerAccountName } from '../../shared/contract/checks.ts';
import { generation } from '../../shared/contract/events.ts';

const action = <const A extends string>(name: A) => ({
  action: v.literal(name),
  partnerAccount: partnerAccountName,
});
const secret = v.pipe(v.string(), v.minLength(1, 'expected a non-empty string'));
const redirectUri = v.pipe(v.string(), v.url('expected an absolute URL'));
const connectOptions = {
  ...action('connect'),
  /** Start of a new feed. Default: the current time by the service's clock, minus the overlap. Ignored for a known feed. */
  since: v.optional(instant),
  /** For a known name: assume that the same user has authorized. Default false: a different user is refused. */
  sameUser: v.optional(v.boolean()),
  /** Begins a new generation: data of the name's previous user is no longer used. Default false. */
  newUser: v.optional(v.boolean()),
};

export const connectEvent = v.variant('action', [
  v.object({ action: v.literal('authorize'), state: v.pipe(v.string(), v.minLength(16)), redirectUri }),
  v.object({ ...connectOptions, refreshToken: secret }),
  v.object({ ...connectOptions, code: secret, redirectUri: v.optional(redirectUri) }),
  v.object({ ...action('disconnect'), forget: v.optional(v.boolean(), false) }),
  v.object({ ...action('forget'), generation }),
  /** The text of the secret of an account that is being moved here. The partner service is not asked. */
  v.object({ ...action('store-pair'), pair: secret }),
  v.object({ action: v.literal('check') }),
  /** Checks an application that is not stored. A function of an earlier version must not check the stored one instead. */
  v.object({ action: v.literal('check-application'), clientId: secret, clientSecret: secret }),
]);
/** The request as sent: a refresh token, code or client secret in it is plain text. */
export type ConnectEvent = v.InferInput<typeof connectEvent>;

const connectedAccount = v.object({
  partnerAccount: v.string(),
  generation: v.number(),
  scope: v.string(),
  tokenExpiresAt: v.string(),
  /** True: a new generation without cursor and history. False: the name was known, and its cursor and generation stay. */
  isNew: v.boolean(),
  /** For a known name: why the bridge could not check that the same user authorized; absent if it could. */
  userUnverified: v.exactOptional(v.string()),
  feed: v.variant('kind', [
    v.object({ kind: v.literal('read'), listed: v.number(), hasMore: v.boolean() }),
    v.object({ kind: v.literal('failed'), fault: v.string(), reason: v.string() }),
  ]),
});
export type ConnectedAccount = Readonly<v.InferOutput<typeof connectedAccount>>;

const acceptedApplication = v.object({
  scope: v.string(),
  /** How far the service's clock is ahead of the function's; absent if the service does not send its time. */
  clockOffSeconds: v.exactOptional(v.number()),
});
export type AcceptedApplication = v.InferOutput<typeof acceptedApplication>;

/** Answers of the connect function: one kind for each action, and `refused`. */
export const connectAnswers = {
  authorize: v.object({ kind: v.literal('authorize'), url: v.string() }),
  connected: v.object({ kind: v.literal('connected'), ...connectedAccount.entries }),
  disconnected: v.object({ kind: v.literal('disconnected'), known: v.boolean() }),
  /** Histories up to this generation may be removed now. `null`: the name is not known. */
  forgetting: v.object({ kind: v.literal('forgetting'), generation: v.nullable(v.number()) }),
  forgotten: v.object({ kind: v.literal('forgotten') }),
  /** The version of the secret. */
  stored: v.object({ kind: v.literal('stored'), version: v.string() }),
  accepted: v.object({ kind: v.literal('accepted'), ...acceptedApplication.entries }),
  /**
   * `fault` is a kind from shared/domain/faults.ts, or `wrong-shape`; `reason` is for a person and contains no secret;
   * `status` is that of the service's answer.
   */
  refused: v.object({
    kind: v.literal('refused'),
    fault: v.string(),
    reason: v.string(),
    status: v.optional(v.number()),
  }),
} as const;
export type ConnectAnswerKind = keyof typeof connectAnswers;
export type ConnectAnswer<K extends ConnectAnswerKind = ConnectAnswerKind> = {
  [Kind in K]: v.InferOutput<(typeof connectAnswers)[Kind]>;
}[K];

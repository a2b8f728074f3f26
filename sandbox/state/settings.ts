import * as v from 'valibot';

/**
 * The settings of a sandbox, which can be changed while it runs. `assumptions` is everything that the sandbox does and
 * that partner-api.md does not describe and that has more than one likely form; change one to test a client against
 * another reading of the document. What else is assumed is labelled where it stands; to get another answer, inject a
 * fault (faults.ts).
 */

/** The error bodies known from services of this kind; `none` is an empty body. */
const shape = v.picklist(['flat-code', 'flat-error', 'oauth', 'nested', 'nested-in-data', 'typed', 'none']);
export type ErrorShape = v.InferOutput<typeof shape>;

/** One of several values, by default the first. */
const oneOf = <const T extends readonly [string | number, ...(string | number)[]]>(...values: T) =>
  v.optional(v.picklist(values), () => values[0]);
const flag = v.optional(v.boolean(), false);
const text = (fallback: string) => v.optional(v.string(), fallback);
const amount = v.pipe(v.number(), v.finite(), v.minValue(0));
const amountOr = (fallback: number) => v.optional(amount, fallback);

const rateLimit = v.strictObject({
  requests: amount,
  perMs: amount,
  /** The answer to a request over the limit: 429 with Retry-After, or 403 without an error code. */
  status: v.picklist([429, 403]),
  /** How long every request is rejected once the limit is exceeded. */
  blockMs: amount,
});
export type RateLimit = v.InferOutput<typeof rateLimit>;

const assumptions = v.strictObject({
  /** Assumed (§7 shows `validation_error` and a `message` for the feed, nothing else). */
  errorShapes: v.optional(
    v.strictObject({
      validation: v.optional(shape, 'flat-code'),
      /** 401 and 403 of /api/partner. */
      authorization: v.optional(shape, 'oauth'),
      /** 404 and 410 of an advert. */
      notFound: v.optional(shape, 'nested'),
      /** Every error of the token endpoint. */
      token: v.optional(shape, 'oauth'),
    }),
    {},
  ),
  /** Assumed (§7: status not shown). A body that is a string is sent unchanged, anything else as JSON. */
  cursorRejection: v.optional(v.strictObject({ status: amountOr(400), body: v.unknown() }), {
    body: { code: 'validation_error', message: 'The parameter cursor is not valid.' },
  }),
  /** Assumed (§8): a limit below 1 or not a whole number is rejected, or treated as the default of 100. */
  badLimit: oneOf('rejected', 'default'),
  /** Assumed: with `rejected-always`, an old `since` is rejected even together with a valid cursor. */
  sinceBeforeRetention: oneOf('rejected-without-cursor', 'rejected-always'),
  /** Assumed: whether the nextCursor of an empty page differs from the cursor that was sent. */
  cursorChangesOnEmptyPage: flag,
  /** Assumed (§2.1 says opaque): `reserved` puts characters into the cursor that have a meaning in a URL. */
  cursorAlphabet: oneOf('url-safe', 'reserved'),
  /** Assumed (§4.3): the answer for a removed advert. Unknown adverts and those of other users always answer 404. */
  removedAdvertStatus: oneOf(404, 410),
  /** Assumed (§9): the supported versions; any other is rejected with 400, like a missing one. */
  acceptedVersions: v.optional(v.array(v.string()), ['2.0']),
  /** Assumed (§4 asks for Version under /api/partner, §9 with every request). */
  tokenEndpointNeedsVersion: flag,
  /** Assumed (§5.1 rule 5): scopes needed to read and to write. */
  requiredScopes: v.optional(v.strictObject({ read: text('v2 read'), write: text('v2 write') }), {}),
  /** Assumed (§4.2): paging of the advert list. `page` counts from 1, `offset` from 0. */
  listPaging: v.optional(
    v.strictObject({
      style: oneOf('page', 'offset'),
      limitParameter: text('limit'),
      positionParameter: text('page'),
      defaultLimit: amountOr(100),
      maximumLimit: amountOr(100),
    }),
    {},
  ),
  /** Assumed (§3 shows only `active`): the statuses of generated adverts and random changes. */
  statuses: v.optional(
    v.array(v.string()),
    'new active limited unpaid moderated blocked outdated removed_by_user'.split(' '),
  ),
  /** Assumed (§4.4): the status of a newly posted advert, and the status code of the answer. */
  createdAdvert: v.optional(v.strictObject({ status: text('new'), answerStatus: amountOr(200) }), {}),
  /** Assumed (§5.3): the meaning of "a day" in "at most once a day": a UTC calendar day, or any 24 hours. */
  refreshTokenDay: oneOf('calendar', 'rolling'),
  /** Assumed: how long a superseded refresh token still returns the latest pair. */
  supersededRefreshToken: oneOf('same-day', 'never', 'always'),
  /** Assumed: whether `expires_in` is a numeric string, as in some services. */
  expiresInAsString: flag,
  /** Assumed: fields that the answer to a refresh omits if they have not changed. */
  refreshOmits: v.optional(v.array(v.picklist(['refresh_token', 'scope'])), []),
  /** Assumed: how long a one-time code can be exchanged. */
  authorizationCodeLifetimeSeconds: amountOr(600),
  /** Assumed (RFC 8252 §7.3): a loopback redirect_uri may differ from the Callback URL in host name and port. */
  loopbackPortMayDiffer: v.optional(v.boolean(), true),
  /** Assumed (§8: limits exist, values not shown): null means no limit. It applies to all users together. */
  rateLimit: v.optional(v.nullable(rateLimit), null),
});
export type Assumptions = v.InferOutput<typeof assumptions>;

const settings = v.strictObject({
  // The application that the partner registered with the service (§5.1).
  clientId: text('sandbox-client'),
  clientSecret: text('sandbox-client-secret'),
  /** Shown on the consent page. */
  applicationName: text('Advert Bridge'),
  /** See the assumption `loopbackPortMayDiffer`. */
  callbackUrls: v.optional(v.array(v.string()), ['http://127.0.0.1:8765/callback']),
  /** All scopes that this partner may request, separated by spaces. */
  allowedScope: text('v2 read write'),

  /** Delay between recording a change and showing it in the feed. */
  visibilityDelayMs: amountOr(3000),
  /** Delay of every answer. */
  latencyMs: amountOr(0),
  accessTokenLifetimeSeconds: amountOr(86_400),
  /** How far back the feed reaches; null: to the beginning. */
  retentionSeconds: v.optional(v.nullable(amount), null),
  assumptions: v.optional(assumptions, {}),
});
export type Settings = v.InferOutput<typeof settings>;
export type SettingsPatch = v.InferInput<typeof settings>;

/**
 * Settings with some of them changed. Objects among the assumptions are merged, not replaced.
 * @throws {RangeError} naming an unknown setting, or one that cannot have this value
 */
export function changeSettings(before: SettingsPatch, patch: SettingsPatch): Settings {
  return parseStrictly(settings, merged(before, patch));
}

function merged(before: unknown, patch: unknown): unknown {
  if (patch === undefined) return before;
  if (!isObject(before) || !isObject(patch)) return patch;
  const fields = Object.entries(patch).map(([name, value]) => [name, merged(before[name], value)]);
  return { ...before, ...Object.fromEntries(fields) };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @returns what the schema makes of the value. @throws {RangeError} naming the field that does not fit */
export function parseStrictly<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, value);
  if (success) return output;
  throw new RangeError(`${v.getDotPath(issues[0]) ?? 'the value'}: ${issues[0].message}`);
}

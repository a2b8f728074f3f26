/**
 * Everything that the sandbox does and that partner-api.md does not describe, in one place. Each setting can be
 * changed, at the start or while the sandbox runs, to test a client against other interpretations of the document.
 *
 * Further assumptions, without a setting; to get another answer, inject a fault (faults.ts):
 * - Authorization is checked before Version, Version before scope, scope before parameters.
 * - A missing or invalid access token answers 401 `invalid_token`; an insufficient scope and a client token answer
 *   403 `insufficient_scope`.
 * - An unknown path answers 404 with HTML, a wrong method 405; a repeated parameter is rejected.
 * - The token endpoint's codes are those of RFC 6749 §5.2, with 401 for `invalid_client`.
 * - "Based on a Callback URL" means the same origin and the same path or one below.
 * - A new authorization leaves the user's earlier grants valid.
 * - The adverts that a user starts with are not in the feed.
 * - The orders feed (§4.8) is at /api/partner/status/orders, an order at /api/partner/orders/{id}, and both work like
 *   the paths of adverts.
 */

/** The error bodies known from services of this kind; `none` is an empty body. */
const errorShapes = [
  'flat-code',
  'flat-error',
  'oauth',
  'nested',
  'nested-in-data',
  'typed',
  'none',
] as const;
export type ErrorShape = (typeof errorShapes)[number];

export interface Assumptions {
  /** Assumed (§7 shows `validation_error` and a `message` for the feed, nothing else). */
  readonly errorShapes: {
    readonly validation: ErrorShape;
    /** 401 and 403 of /api/partner. */
    readonly authorization: ErrorShape;
    /** 404 and 410 of an advert. */
    readonly notFound: ErrorShape;
    /** Every error of the token endpoint. */
    readonly token: ErrorShape;
  };
  /** Assumed (§7: status not shown). A body that is a string is sent unchanged, anything else as JSON. */
  readonly cursorRejection: { readonly status: number; readonly body: unknown };
  /** Assumed (§8): a limit below 1 or not a whole number is rejected, or treated as the default of 100. */
  readonly badLimit: 'rejected' | 'default';
  /** Assumed: with `rejected-always`, an old `since` is rejected even together with a valid cursor. */
  readonly sinceBeforeRetention: 'rejected-without-cursor' | 'rejected-always';
  /** Assumed: whether the nextCursor of an empty page differs from the cursor that was sent. */
  readonly cursorChangesOnEmptyPage: boolean;
  /** Assumed (§2.1 says opaque): `reserved` puts characters into the cursor that have a meaning in a URL. */
  readonly cursorAlphabet: 'url-safe' | 'reserved';
  /** Assumed (§4.3): the answer for a removed advert. Unknown adverts and those of other users always answer 404. */
  readonly removedAdvertStatus: 404 | 410;
  /** Assumed (§9): the supported versions; any other is rejected with 400, like a missing one. */
  readonly acceptedVersions: readonly string[];
  /** Assumed (§4 asks for Version under /api/partner, §9 with every request). */
  readonly tokenEndpointNeedsVersion: boolean;
  /** Assumed (§5.1 rule 5): scopes needed to read and to write. */
  readonly requiredScopes: { readonly read: string; readonly write: string };
  /** Assumed (§4.2): paging of the advert list. */
  readonly listPaging: {
    readonly style: 'page' | 'offset';
    readonly limitParameter: string;
    /** `page` counts from 1, `offset` from 0. */
    readonly positionParameter: string;
    readonly defaultLimit: number;
    readonly maximumLimit: number;
  };
  /** Assumed (§3 shows only `active`): the statuses of generated adverts and random changes. */
  readonly statuses: readonly string[];
  /** Assumed (§4.4): the status of a newly posted advert, and the status code of the answer. */
  readonly createdAdvert: { readonly status: string; readonly answerStatus: number };
  /** Assumed (§5.3): the meaning of "a day" in "at most once a day": a UTC calendar day, or any 24 hours. */
  readonly refreshTokenDay: 'calendar' | 'rolling';
  /** Assumed: how long a superseded refresh token still returns the latest pair. */
  readonly supersededRefreshToken: 'same-day' | 'never' | 'always';
  /** Assumed: whether `expires_in` is a numeric string, as in some services. */
  readonly expiresInAsString: boolean;
  /** Assumed: fields that the answer to a refresh omits if they have not changed. */
  readonly refreshOmits: readonly ('refresh_token' | 'scope')[];
  /** Assumed: how long a one-time code can be exchanged. */
  readonly authorizationCodeLifetimeSeconds: number;
  /** Assumed (RFC 8252 §7.3): a loopback redirect_uri may differ from the Callback URL in host name and port. */
  readonly loopbackPortMayDiffer: boolean;
  /**
   * Assumed (§8: limits exist, values not shown): null means no limit. The limit applies to the whole service, not
   * per user.
   */
  readonly rateLimit: RateLimit | null;
}

export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
  /** The answer to a request over the limit: 429 with Retry-After, or 403 without an error code. */
  readonly status: 429 | 403;
  /** How long every request is rejected once the limit is exceeded. */
  readonly blockMs: number;
}

export type AssumptionOverrides = {
  readonly [K in keyof Assumptions]?: Assumptions[K] extends
    | readonly unknown[]
    | null
    | string
    | boolean
    | number
    ? Assumptions[K]
    : Assumptions[K] extends object
      ? Partial<Assumptions[K]>
      : Assumptions[K];
};

export const defaultAssumptions: Assumptions = {
  errorShapes: { validation: 'flat-code', authorization: 'oauth', notFound: 'nested', token: 'oauth' },
  cursorRejection: {
    status: 400,
    body: { code: 'validation_error', message: 'The parameter cursor is not valid.' },
  },
  badLimit: 'rejected',
  sinceBeforeRetention: 'rejected-without-cursor',
  cursorChangesOnEmptyPage: false,
  cursorAlphabet: 'url-safe',
  removedAdvertStatus: 404,
  acceptedVersions: ['2.0'],
  tokenEndpointNeedsVersion: false,
  requiredScopes: { read: 'v2 read', write: 'v2 write' },
  listPaging: {
    style: 'page',
    limitParameter: 'limit',
    positionParameter: 'page',
    defaultLimit: 100,
    maximumLimit: 100,
  },
  statuses: ['new', 'active', 'limited', 'unpaid', 'moderated', 'blocked', 'outdated', 'removed_by_user'],
  createdAdvert: { status: 'new', answerStatus: 200 },
  refreshTokenDay: 'calendar',
  supersededRefreshToken: 'same-day',
  expiresInAsString: false,
  refreshOmits: [],
  authorizationCodeLifetimeSeconds: 600,
  loopbackPortMayDiffer: true,
  rateLimit: null,
};

const choices: Readonly<Record<string, readonly unknown[]>> = {
  badLimit: ['rejected', 'default'],
  sinceBeforeRetention: ['rejected-without-cursor', 'rejected-always'],
  cursorAlphabet: ['url-safe', 'reserved'],
  removedAdvertStatus: [404, 410],
  refreshTokenDay: ['calendar', 'rolling'],
  supersededRefreshToken: ['same-day', 'never', 'always'],
  'errorShapes.validation': errorShapes,
  'errorShapes.authorization': errorShapes,
  'errorShapes.notFound': errorShapes,
  'errorShapes.token': errorShapes,
  'listPaging.style': ['page', 'offset'],
};

const anything = new Set(['cursorRejection.body', 'rateLimit']);

/**
 * Merges overrides into assumptions, one level deep.
 * @throws {RangeError} for an unknown name or a value of the wrong kind
 */
export function overrideAssumptions(base: Assumptions, overrides: AssumptionOverrides): Assumptions {
  return merge(base, overrides, defaultAssumptions, '') as Assumptions;
}

function merge(base: object, overrides: object, model: object, prefix: string): object {
  if (!isPlainObject(overrides)) throw new RangeError(`${prefix || 'assumptions'} is not an object`);
  const merged: Record<string, unknown> = { ...base };
  const known = new Map<string, unknown>(Object.entries(model));
  for (const [name, value] of Object.entries(overrides)) {
    const path = `${prefix}${name}`;
    if (!known.has(name)) throw new RangeError(`there is no assumption named ${path}`);
    if (value === undefined) continue;
    const expected = known.get(name);
    const before = merged[name];
    if (isPlainObject(expected) && !anything.has(path)) {
      merged[name] = merge(isPlainObject(before) ? before : {}, value, expected, `${path}.`);
      continue;
    }
    const fits =
      anything.has(path) ||
      (typeof value === typeof expected && Array.isArray(value) === Array.isArray(expected));
    if (!fits || choices[path]?.includes(value) === false) throw new RangeError(`${path} cannot be that`);
    merged[name] = value;
  }
  return merged;
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

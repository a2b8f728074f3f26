import * as v from 'valibot';
import { errorShapes } from './answer.ts';

/**
 * The settings of a sandbox, which can be changed while it runs. `assumptions` is everything that the sandbox does and
 * that partner-api.md does not describe and that has more than one likely form; change one to test a client against
 * another reading of the document. What else is assumed is labelled where it stands; to get another answer, inject a
 * fault (faults.ts).
 */

const textOr = (fallback: string) => v.optional(v.string(), fallback);
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
  /** Assumed (§7: status not shown). A body that is a string is sent unchanged, anything else as JSON. */
  cursorRejection: v.optional(v.strictObject({ status: amountOr(400), body: v.unknown() }), {
    body: { code: 'validation_error', message: 'The parameter cursor is not valid.' },
  }),
  /** Assumed (§4.1: the largest page): null keeps `limit`; otherwise each page has so many entries whatever the limit is. */
  feedPageSize: v.optional(v.nullable(v.pipe(amount, v.integer(), v.minValue(1))), null),
  /** Assumed (§7: full shape not shown): the errors of all endpoints but those of tokens (answer.ts). */
  errorShape: v.optional(v.picklist(errorShapes), 'mixed'),
  /** Assumed (§4.2): paging of the advert list. `page` counts from 1, `offset` from 0. */
  listPaging: v.optional(
    v.strictObject({
      style: v.optional(v.picklist(['page', 'offset']), 'page'),
      limitParameter: textOr('limit'),
      positionParameter: textOr('page'),
      defaultLimit: amountOr(100),
      maximumLimit: amountOr(100),
    }),
    {},
  ),
  /** Assumed (§4.3): after the feed lists a change, its advert is answered as before for so long (a replica behind it). */
  advertLagMs: amountOr(0),
  /** Assumed (§5.3 rule 3 is not clear): each refresh returns a new refresh token, and only the newest one is taken. */
  onlyNewestRefreshToken: v.optional(v.boolean(), false),
  /** Assumed (§3 shows only `active`): the statuses of generated adverts and random changes. */
  statuses: v.optional(
    v.array(v.string()),
    'new active limited unpaid moderated blocked outdated removed_by_user'.split(' '),
  ),
  /** Assumed (§8: limits exist, values not shown): null means no limit. It applies to all users together. */
  rateLimit: v.optional(v.nullable(rateLimit), null),
});

const settings = v.strictObject({
  // The application that the partner registered with the service (§5.1).
  clientId: textOr('sandbox-client'),
  clientSecret: textOr('sandbox-client-secret'),
  applicationName: textOr('Advert Bridge'),
  callbackUrls: v.optional(v.array(v.string()), ['http://127.0.0.1:8765/callback']),
  /** All scopes that this partner may request, separated by spaces. */
  allowedScope: textOr('v2 read write'),

  /** Delay between recording a change and showing it in the feed. */
  visibilityDelayMs: amountOr(3000),
  latencyMs: amountOr(0),
  accessTokenLifetimeSeconds: amountOr(86_400),
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
  if (!isRecord(before) || !isRecord(patch)) return patch;
  const fields = Object.entries(patch).map(([name, value]) => [name, merged(before[name], value)]);
  return { ...before, ...Object.fromEntries(fields) };
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @returns what the schema makes of the value. @throws {RangeError} naming the field that does not fit */
export function parseStrictly<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, value);
  if (success) return output;
  throw new RangeError(`${v.getDotPath(issues[0]) ?? 'the value'}: ${issues[0].message}`);
}

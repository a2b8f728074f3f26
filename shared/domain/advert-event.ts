import type { AdvertEvent, AuthorizationEvent } from '../contract/events.ts';
import { type ChangedAdvert, feeds } from '../contract/messages.ts';
import { detailTypes, eventSource, schemaVersion } from '../contract/names.ts';
import { toInstant } from './clock.ts';
import { Secret } from './secret.ts';

export interface Observation {
  readonly bridge: string;
  readonly status: string | null;
  readonly previousStatus: string | null;
  readonly sequence: number;
  /** When the answer was received, ms since 1970. */
  readonly observedAt: number;
  /** Only with the setting `eventFields`, and only if the service knows the advert. */
  readonly copied?: EventFields;
}

export function advertEvent(message: ChangedAdvert, seen: Observation): AdvertEvent {
  const { partnerAccount, generation, advertId, listedAt, cause, correlationId } = message;
  const feed = feeds[message.feed];
  const { bridge, status, previousStatus, sequence, copied } = seen;
  const observedAt = toInstant(seen.observedAt);
  const eventId = `${historyKeyOf(message)}/${sequence}`;
  const isGone = status === null;
  const detailType = isGone ? feed.detailTypes.unavailable : feed.detailTypes.statusChanged;
  const resource = `${partnerAccount}/${feed.object}/${advertId}`;
  const metadata = {
    eventId,
    schemaVersion,
    bridge,
    partnerAccount,
    generation,
    sequence,
    listedAt,
    observedAt,
    cause,
    correlationId,
  };
  const data = { [`${feed.object}Id`]: advertId, status, previousStatus, ...(isGone ? {} : copied) };
  return eventOf(detailType, resource, { metadata, data }) as unknown as AdvertEvent;
}

/** @param resource the part of its name after the bridge's */
const eventOf = <D extends { readonly metadata: { readonly observedAt: string } }>(
  detailType: string,
  resource: string,
  detail: D,
) => ({
  source: eventSource,
  'detail-type': detailType,
  // EventBridge truncates it to whole seconds, so every kind of bridge does the same.
  time: `${detail.metadata.observedAt.slice(0, 19)}Z`,
  resources: [`advert-bridge/${resource}`],
  detail,
});

export interface AuthorizationChange {
  readonly bridge: string;
  readonly partnerAccount: string;
  readonly generation: number;
  /** Version of the rejected token, or of its replacement; part of the event ID, which makes it unique. */
  readonly tokenVersion: string;
  readonly reason: string;
  readonly observedAt: number;
}

export function authorizationEvent(
  kind: 'required' | 'restored',
  change: AuthorizationChange,
): AuthorizationEvent {
  const { bridge, partnerAccount, generation, tokenVersion, reason } = change;
  const observedAt = toInstant(change.observedAt);
  const eventId = `${partnerAccount}/${generation}/authorization-${kind}/${tokenVersion}`;
  const detailType = detailTypes[kind === 'required' ? 'authorizationRequired' : 'authorizationRestored'];
  const metadata = { eventId, schemaVersion, bridge, partnerAccount, generation, observedAt };
  return eventOf(detailType, partnerAccount, { metadata, data: { reason } }) as AuthorizationEvent;
}

export interface EventFields {
  /** Values of the answer, by path. A value that the service did not send is absent. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Paths whose values did not fit, are nested too deeply, or contain a rounded number, a secret or half a character. */
  readonly fieldsLeftOut?: string[];
}

/** EventBridge charges per 64 KB, and DynamoDB charges the row per 1 KB. */
export const maxFieldsBytes = 8_192;

/** Maximum nesting. Every JSON parser supports this many levels; JSON with thousands of levels cannot even be written. */
const maxLevels = 32;

/**
 * Copies values from an advert, in the order of the paths, until the limit is reached.
 *
 * @param advert as the partner service sent it, with a {@link Secret} in the place of what repeats a credential
 * @param paths such as `title` or `price.value`
 */
export function copyFields(advert: unknown, paths: readonly string[]): EventFields {
  const fields: Record<string, unknown> = {};
  const fieldsLeftOut: string[] = [];
  let bytes = 2;
  for (const path of paths) {
    const value = valueAt(advert, path);
    if (value === undefined) continue;
    const isFit = isExact(value, maxLevels);
    const size = isFit ? Buffer.byteLength(`${JSON.stringify(path)}:${JSON.stringify(value)},`) : 0;
    if (!isFit || bytes + size > maxFieldsBytes) fieldsLeftOut.push(path);
    else {
      fields[path] = value;
      bytes += size;
    }
  }
  return {
    ...(Object.keys(fields).length > 0 && { fields }),
    ...(fieldsLeftOut.length > 0 && { fieldsLeftOut }),
  };
}

function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split('.')) {
    if (found instanceof Secret) return found;
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/** What SQS takes, so without half a surrogate pair, as a title has that was cut within an emoji. JSON escapes the rest. */
const transportable = /^[\0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

/** False for a secret, too many levels, text that not every queue takes, and rounded or infinite numbers. */
function isExact(value: unknown, levels: number): boolean {
  if (typeof value === 'string') return transportable.test(value);
  if (typeof value === 'number')
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
  if (typeof value !== 'object' || value === null) return true;
  return (
    !(value instanceof Secret) &&
    levels > 0 &&
    Object.entries(value).every(([name, inner]) => isExact(name, levels) && isExact(inner, levels - 1))
  );
}

/** Settings that restrict which events about adverts are published; a setting that is absent restricts nothing. */
export interface PublishedEvents {
  readonly publishStatuses?: readonly string[] | undefined;
  readonly publishPartnerAccounts?: readonly string[] | undefined;
}

/** With `publishStatuses`, also the event of an advert that leaves one of them, because a subscriber needs both. */
export function isPublished(
  { detail: { metadata, data } }: AdvertEvent,
  { publishStatuses, publishPartnerAccounts }: PublishedEvents,
): boolean {
  if (publishPartnerAccounts && !publishPartnerAccounts.includes(metadata.partnerAccount)) return false;
  if (!publishStatuses) return true;
  return [data.status, data.previousStatus].some(
    (status) => status !== null && publishStatuses.includes(status),
  );
}

export type HistoryOwner = Readonly<
  Pick<ChangedAdvert, 'partnerAccount' | 'generation' | 'feed' | 'advertId'>
>;

/** A name that is unique over the objects of all feeds, for keys, logs and dead letters: for an advert its plain ID. */
export const objectKeyOf = ({ feed, advertId }: Pick<HistoryOwner, 'feed' | 'advertId'>): string =>
  `${feeds[feed].keyPrefix}${advertId}`;

/** Key of an object's history; also the prefix of its event IDs. */
export const historyKeyOf = (owner: HistoryOwner): string =>
  `${owner.partnerAccount}/${owner.generation}/${objectKeyOf(owner)}`;

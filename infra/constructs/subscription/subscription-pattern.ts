import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { detailTypes, eventSource } from '../../../shared/contract/names.ts';
import { type Fault, longestOf } from '../props/faults.ts';

/** Type of an event: `AdvertStatusChanged`, `AdvertUnavailable` and so on, as in docs/subscribe/events.md. */
export type DetailType = (typeof detailTypes)[keyof typeof detailTypes];

/** Which events a team wants. Each list filters the events that have its field; an omitted list filters nothing. */
export interface AdvertFilter {
  /** Names of partner accounts; default: all. */
  readonly partnerAccounts?: readonly string[];
  /**
   * New statuses in `AdvertStatusChanged`; default: all. With this filter, you get no event when an advert leaves one
   * of the statuses.
   */
  readonly statuses?: readonly string[];
  /** Default: all adverts. */
  readonly advertIds?: readonly string[];
  /** Default: `AdvertStatusChanged` and `AdvertUnavailable`; with `statuses`, only `AdvertStatusChanged`. */
  readonly detailTypes?: readonly DetailType[];
}

/** A pattern for events of type `T`: the matching values of each field. */
type PatternOf<T> = [T] extends [object] ? { readonly [K in keyof T]?: PatternOf<T[K]> } : readonly T[];

/** An event pattern of EventBridge. A field that the contract does not have does not compile. */
export type SubscriptionPattern = Pick<PatternOf<AdvertEvent>, 'source' | 'detail'> & {
  readonly 'detail-type': readonly DetailType[];
};

/**
 * Maximum length of a pattern in EventBridge, in characters.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
 */
export const maxPatternLength = 2048;
/** The same for the filter of a subscriber on the Custom Event Bus. */
const maxFilterLength = 4096;

const { statusChanged, unavailable } = detailTypes;
const having = {
  statuses: [statusChanged],
  advertIds: [statusChanged, unavailable],
} as const satisfies Partial<Record<keyof AdvertFilter, readonly DetailType[]>>;

export const detailTypesOf = (filter: AdvertFilter): readonly DetailType[] =>
  filter.detailTypes ?? (filter.statuses ? having.statuses : having.advertIds);

/**
 * The patterns of a filter, one for each set of fields that its detail types have. EventBridge matches an event only if
 * it has every field of the pattern, so a single pattern would match only events that have all fields.
 */
export function patternsOf(filter: AdvertFilter): SubscriptionPattern[] {
  const groups = new Map<
    string,
    { types: DetailType[]; pattern: Omit<SubscriptionPattern, 'detail-type'> }
  >();
  for (const type of new Set(detailTypesOf(filter))) {
    const pattern = patternFor(type, filter);
    const key = JSON.stringify(pattern);
    const group = groups.get(key) ?? { types: [], pattern };
    group.types.push(type);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ types, pattern }) => ({ ...pattern, 'detail-type': types }));
}

/** The same for the one filter of a subscriber on the Custom Event Bus: two would not keep the order of an advert's events. */
export function filterOf(filter: AdvertFilter): string {
  const patterns = patternsOf(filter);
  return JSON.stringify(patterns.length === 1 ? patterns[0] : { $or: patterns });
}

function patternFor(type: DetailType, filter: AdvertFilter): Omit<SubscriptionPattern, 'detail-type'> {
  const has = (field: keyof typeof having) =>
    filter[field] !== undefined && having[field].some((each) => each === type);
  const metadata = filter.partnerAccounts && { partnerAccount: unique(filter.partnerAccounts) };
  const data = {
    ...(has('advertIds') && { advertId: unique(filter.advertIds) }),
    ...(has('statuses') && { status: unique(filter.statuses) }),
  };
  const detail = { ...(metadata && { metadata }), ...(Object.keys(data).length > 0 && { data }) };
  return { source: [eventSource], ...(Object.keys(detail).length > 0 && { detail }) };
}

const unique = <T>(values: readonly T[] = []): readonly T[] => [...new Set(values)];

/** The parts of a filter that can never match. */
export function contradictionsOf(filter: AdvertFilter & { readonly customBusArn?: unknown }): Fault[] {
  const types = detailTypesOf(filter);
  const faults = (['statuses', 'advertIds'] as const).flatMap((field): Fault[] => {
    const typesWithIt: readonly DetailType[] = having[field];
    if (filter[field] === undefined || types.some((type) => typesWithIt.includes(type))) return [];
    const expected = `expected ${typesWithIt.join(' or ')} among them, or no ${field}`;
    return [[field, `none of the detail types listed has one: ${expected}`]];
  });
  if (faults.length > 0) return faults;
  const isCustom = filter.customBusArn !== undefined;
  const length = isCustom
    ? filterOf(filter).length
    : Math.max(...patternsOf(filter).map((pattern) => JSON.stringify(pattern).length));
  const greatest = isCustom ? maxFilterLength : maxPatternLength;
  if (length <= greatest) return [];
  const most = `expected an event pattern of at most ${greatest} characters, this one has ${length}`;
  const { partnerAccounts, statuses, advertIds } = filter;
  const longest = longestOf({ partnerAccounts, statuses, advertIds });
  return [[longest, `${most}: spread the values over several subscriptions with one target`]];
}

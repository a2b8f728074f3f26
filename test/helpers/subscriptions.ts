import fc from 'fast-check';
import {
  type AdvertFilter,
  detailTypesOf,
} from '../../infra/constructs/subscription/subscription-pattern.ts';
import { checked } from '../../shared/contract/checks.ts';
import { type Envelope, envelope } from '../../shared/contract/events.ts';
import { detailTypes } from '../../shared/contract/names.ts';

const types = Object.values(detailTypes);
// Few values, so that filter and event often agree.
const partnerAccount = fc.constantFrom('main', 'second', 'Main');
const advert = fc.constantFrom('1', '10', '1001');
const status = fc.constantFrom('active', 'sold', '1', '"active"', 'ąctive', '*', 'activ\\u0065');

export const anEvent: fc.Arbitrary<Envelope> = fc
  .record({ type: fc.constantFrom(...types), partnerAccount, advert, status, previous: fc.option(status) })
  .map(({ type, partnerAccount: name, advert: advertId, status: now, previous }) => {
    const time = '2026-11-20T12:00:00.123Z';
    const common = {
      eventId: 'e',
      schemaVersion: '1.0',
      partnerAccount: name,
      generation: 1,
      observedAt: time,
    };
    const ofAdvert = { sequence: 1, listedAt: time, cause: 'feed', correlationId: 'c' };
    const isAdvert = type === detailTypes.statusChanged || type === detailTypes.unavailable;
    const data = {
      advertId,
      status: type === detailTypes.unavailable ? null : now,
      previousStatus: previous,
    };
    const detail = isAdvert
      ? { metadata: { ...common, ...ofAdvert }, data }
      : { metadata: common, data: { reason: 'disconnected' } };
    const outside = {
      source: 'advert-bridge',
      'detail-type': type,
      time: '2026-11-20T12:00:00Z',
      resources: [],
    };
    return checked(envelope, { ...outside, detail }, 'event');
  });

const someOf = <T>(item: fc.Arbitrary<T>) =>
  fc.option(fc.array(item, { minLength: 1, maxLength: 3 }), { nil: undefined });
export const aFilter: fc.Arbitrary<AdvertFilter> = fc
  .record({
    partnerAccounts: someOf(partnerAccount),
    statuses: someOf(status),
    advertIds: someOf(advert),
    detailTypes: someOf(fc.constantFrom(...types)),
  })
  .map((lists) => Object.fromEntries(Object.entries(lists).filter(([, list]) => list !== undefined)));

/** The meaning of the filter, written independently of the patterns. */
export function isWanted(filter: AdvertFilter, { 'detail-type': type, detail }: Envelope): boolean {
  const { partnerAccounts, statuses, advertIds } = filter;
  const { data, metadata } = detail;
  if (!detailTypesOf(filter).includes(type)) return false;
  if (partnerAccounts && !partnerAccounts.includes(metadata.partnerAccount)) return false;
  if (advertIds && 'advertId' in data && !advertIds.includes(data.advertId)) return false;
  return !(statuses && 'status' in data && data.status !== null && !statuses.includes(data.status));
}

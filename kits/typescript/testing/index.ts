/**
 * Helpers for tests of a subscriber: events, histories, and deliveries in any order. Import path:
 * `advert-bridge-kit/testing`.
 */
export {
  type AdvertFields,
  type AuthorizationFields,
  aLambdaEvent,
  anAdvertStatusChanged,
  anAdvertUnavailable,
  anSqsRecord,
  aPartnerAuthorizationRequired,
  aPartnerAuthorizationRestored,
  type StatusFields,
} from './fixtures.ts';
export { createInMemoryPositions } from './in-memory-positions.ts';
export { anAdvertHistory, latestStatuses, type PlayerOptions, playEvents } from './player.ts';

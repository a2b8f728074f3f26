/** What another team needs to handle the bridge's events and to test that it does: docs/subscribe/guide.md. */
export type {
  AdvertEvent,
  AuthorizationEvent,
  StatusChanged,
  Unavailable,
} from '../shared/contract/events.ts';
export { detailTypes, eventSource, schemaVersion } from '../shared/contract/names.ts';
export {
  type BatchAnswer,
  type BatchOptions,
  type Delivery,
  type OpenBatch,
  openBatch,
  type Refusal,
} from './batch.ts';
export { type SqsLike, sendToDeadLetters } from './dead-letters.ts';
export { createDynamoDbStore, type DynamoDbLike, type DynamoDbStoreOptions } from './dynamodb-store.ts';
export {
  NotAnEventError,
  type RefusalCode,
  RefusedEventError,
  UnknownDetailTypeError,
  UnsupportedVersionError,
} from './errors.ts';
export * from './fixtures.ts';
export {
  AdvertBusyError,
  ClaimLostError,
  createStaleGuard,
  type HeldClaim,
  type Judged,
  type StaleGuard,
  type StaleGuardOptions,
} from './guard.ts';
export { createInMemoryStore } from './in-memory-store.ts';
export {
  type AdvertBatch,
  type AdvertEventsOptions,
  advertEventHandler,
  advertEvents,
} from './middleware.ts';
export {
  type NewerCondition,
  onlyIfNewer,
  onlyIfNewerItem,
  type PositionAttributes,
} from './only-if-newer.ts';
export {
  type BridgeEvent,
  type Parsed,
  parseBody,
  parseEvent,
  parseLambdaEvent,
  parseSqsRecord,
  type SqsRecord,
} from './parse.ts';
export { anAdvertHistory, latestStatuses, type PlayerOptions, playEvents } from './player.ts';
export {
  advertKeyOf,
  comparePositions,
  type Judgement,
  judge,
  type Outcome,
  type Position,
  positionOf,
} from './position.ts';
export { type Claim, type ClaimAnswer, inOwnWrite, type PositionStore } from './store.ts';

/**
 * The consumer kit, for teams that handle the bridge's events: docs/subscribe/guide.md. For tests:
 * `advert-bridge-kit/testing`.
 */
export type {
  AdvertEvent,
  AuthorizationEvent,
  StatusChanged,
  Unavailable,
} from '../shared/contract/events.ts';
export type { Refusal } from './arrivals.ts';
export { type AdvertBatch, advertBatchHandler, advertBatchMiddleware } from './batch.ts';
export { AdvertBusyError, applyIfNewer, ClaimLostError, type ClaimOptions } from './claims.ts';
export { type SqsLike, sendToDeadLetters } from './dead-letters.ts';
export {
  createDynamoDbPositions,
  type DynamoDbLike,
  type DynamoDbPositionsOptions,
} from './dynamodb-positions.ts';
export {
  NotAnEventError,
  RefusedEventError,
  UnknownDetailTypeError,
  UnsupportedVersionError,
} from './errors.ts';
export { type BatchAnswer, type Failure, PositionStoreError } from './failures.ts';
export {
  advertEventHandler,
  type Delivery,
  type EventFunctions,
  type EventHandlerOptions,
} from './handler.ts';
export type { HandlerOptions, SkipReason } from './invocation.ts';
export { type NewerCondition, type NewerConditionOptions, newerCondition } from './newer-condition.ts';
export { type BridgeEvent, parseBody, parseEvent, parseSqsRecord, type SqsRecord } from './parse.ts';
export {
  advertKeyOf,
  type Comparison,
  compareToApplied,
  type Outcome,
  type Position,
  positionOf,
} from './position.ts';
export type { Claim, ClaimAnswer, PositionStore, Positions } from './position-store.ts';
export { type SpanLink, spanLinksOf, type Tracing, type TracingApi } from './tracing.ts';

// biome-ignore-all assist/source/organizeImports: the entry points come first, then the types.
/**
 * The consumer kit, for teams that handle the bridge's events: docs/subscribe/guide.md. For tests:
 * `advert-bridge-kit/testing`.
 */
export { advertEventHandler } from './handler.ts';
export { createDynamoDbPositions } from './dynamodb-positions.ts';
export { sendToDeadLetters } from './dead-letters.ts';
export { newerCondition } from './newer-condition.ts';
export { applyIfNewer } from './claims.ts';

// For handlers without the entry points above.
export { parseBody, parseEvent } from './parse.ts';
export { advertKeyOf, compareToApplied, positionOf } from './position.ts';
export { AdvertBusyError, BatchFailedError, ClaimLostError, RefusedEventError } from './errors.ts';

export type {
  AdvertEvent,
  AdvertStatusChanged,
  AdvertUnavailable,
  AuthorizationEvent,
} from '../../shared/contract/events.ts';
export type { Arrival, Refusal } from './arrivals.ts';
export type { ClaimOptions } from './claims.ts';
export type { SqsLike } from './dead-letters.ts';
export type { DynamoDbLike, DynamoDbPositionsOptions } from './dynamodb-positions.ts';
export type { BatchAnswer, Failure } from './failures.ts';
export type {
  Delivery,
  EventFunctions,
  EventHandlerOptions,
  LambdaContext,
  SkipReason,
} from './handler.ts';
export type { NewerCondition, NewerConditionOptions } from './newer-condition.ts';
export type { BridgeEvent } from './parse.ts';
export type { Comparison, Outcome, Position } from './position.ts';
export type { Claim, ClaimAnswer, PositionStore, Positions } from './position-store.ts';

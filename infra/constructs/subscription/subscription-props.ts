import { type Duration, Stack, Token } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import * as v from 'valibot';
import { advertId, partnerAccountName, status } from '../../../shared/contract/checks.ts';
import { detailTypes } from '../../../shared/contract/names.ts';
import { faultsByPlace } from '../props/faults.ts';
import { type BridgeBus, bridgeBusOf } from './bridge-bus.ts';
import { type AdvertFilter, contradictionsOf } from './subscription-pattern.ts';

/**
 * The target of the events. It cannot be a FIFO queue: EventBridge does not keep the order, and would send all events
 * as one message group.
 */
export type SubscriptionTarget = IQueue | IFunction | IStateMachine | IEventBus;

/** The bridge's bus, as a construct or as its ARN (the stack's output `EventBusArn`). */
export type BusProps =
  | { readonly bus: IEventBus; readonly busArn?: never }
  | { readonly bus?: never; readonly busArn: string };

/** Which events a team wants, from which bus, and where they are sent. */
export type AdvertSubscriptionProps = AdvertFilter &
  BusProps & {
    /** Default: a new queue. */
    readonly target?: SubscriptionTarget;
    /**
     * The function that handles the events (`advertEventHandler`). The subscription creates the event source mapping
     * with partial batch responses, sets the environment variables `POSITIONS_TABLE_NAME` and `DEAD_LETTER_QUEUE_URL`,
     * and grants the function access to both.
     */
    readonly consumer?: LambdaFunction;
    /**
     * Where the consumer stores how far it has applied each advert's events: your own table, with a partition key `pk`
     * of type string, or `'own-write'` for no table. Default with a `consumer`: a new table, which is kept when the
     * stack is deleted.
     */
    readonly positions?: ITable | 'own-write';
    /**
     * Visibility timeout of the new queue. Default: six times the timeout of the consumer, or 3 minutes without a
     * consumer.
     */
    readonly visibilityTimeout?: Duration;
    /** How often a message in the new queue is received before it becomes a dead letter. Default 10. */
    readonly maxReceiveCount?: number;
  };

/**
 * Thrown for properties with which the subscription could not work. The message has a line for each fault, with the
 * expected value.
 */
export class SubscriptionError extends Error {
  override readonly name = 'SubscriptionError';
  readonly code = 'wrong-subscription';
  /** One entry per fault: `<property>: <expected value>`. */
  readonly faults: readonly string[];

  constructor(path: string, faults: readonly string[]) {
    super([`The subscription ${path} has faults.`, ...faults.map((fault) => `  ${fault}`)].join('\n'));
    this.faults = faults;
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const has = (value: unknown, property: string): boolean => isObject(value) && property in value;
export const isBus = (value: unknown): value is IEventBus => has(value, 'eventBusArn');
export const isQueue = (value: unknown): value is IQueue => has(value, 'queueArn');
export const isFunction = (value: unknown): value is IFunction => has(value, 'functionArn');

const listOf = <S extends v.GenericSchema<unknown, unknown>>(item: S, what: string) =>
  v.optional(
    v.pipe(
      v.array(item, `expected a list of ${what}`),
      v.minLength(
        1,
        `expected at least one; omit the property for all ${what}, because an empty list matches nothing`,
      ),
    ),
  );
const known = v.check((text: string) => !Token.isUnresolved(text), 'expected a value known at synth');
const allDetailTypes = Object.values(detailTypes);
const wholeFrom1 = 'expected a whole number from 1 to 1000';

const shape = v.strictObject({
  bus: v.optional(v.custom<IEventBus>(isBus, 'expected an event bus')),
  busArn: v.optional(v.string('expected the ARN of the event bus, the output EventBusArn of the bridge')),
  partnerAccounts: listOf(partnerAccountName, 'partner accounts'),
  statuses: listOf(v.pipe(status, known), 'statuses'),
  advertIds: listOf(v.pipe(v.string('expected 1 to 20 digits, as text'), advertId), 'adverts'),
  detailTypes: listOf(
    v.picklist(allDetailTypes, `expected one of ${allDetailTypes.join(', ')}`),
    'detail types',
  ),
  target: v.optional(
    v.custom<SubscriptionTarget>(
      (value) => isQueue(value) || isFunction(value) || isBus(value) || has(value, 'stateMachineArn'),
      'expected a queue, function, state machine or event bus',
    ),
  ),
  consumer: v.optional(
    v.custom<LambdaFunction>(
      (value) => isFunction(value) && 'addEnvironment' in value,
      'expected a Lambda function that is made in this app',
    ),
  ),
  positions: v.optional(
    v.custom<ITable | 'own-write'>(
      (value) => value === 'own-write' || has(value, 'tableArn'),
      "expected a table, or 'own-write'",
    ),
  ),
  visibilityTimeout: v.optional(
    v.custom<Duration>(isVisibility, 'expected a Duration from 1 second to 12 hours'),
  ),
  maxReceiveCount: v.optional(
    v.pipe(
      v.number(wholeFrom1),
      v.integer(wholeFrom1),
      v.minValue(1, wholeFrom1),
      v.maxValue(1000, wholeFrom1),
    ),
  ),
});

function isVisibility(value: unknown): boolean {
  if (!isObject(value) || !('toSeconds' in value) || typeof value.toSeconds !== 'function') return false;
  const seconds: unknown = value.toSeconds();
  return typeof seconds === 'number' && seconds >= 1 && seconds <= 43_200;
}

/**
 * Checks everything that is known at synth, and determines where the bus is.
 *
 * @throws {SubscriptionError} with all faults
 */
export function checkedBus(scope: Construct, props: AdvertSubscriptionProps): BridgeBus {
  const { issues } = v.safeParse(shape, props);
  const faults = faultsByPlace(issues);
  const all = [...faults].map(([path, expected]) => `${path}: ${expected}`);
  // A property with a wrong type cannot be compared with the others.
  const isFine = (...names: string[]) =>
    ![...faults.keys()].some((path) => names.includes(path.split('.')[0] ?? ''));
  if (isFine('partnerAccounts', 'statuses', 'advertIds', 'detailTypes')) all.push(...contradictionsOf(props));
  if (isFine('target')) all.push(...targetFaults(scope, props));
  if (isFine('consumer', 'visibilityTimeout')) all.push(...consumerFaults(props));
  const bus = isFine('bus', 'busArn') ? bridgeBusOf(scope, props) : undefined;
  if (bus && 'fault' in bus) all.push(bus.fault);
  if (bus && !('fault' in bus) && isBus(props.target) && isSameBus(scope, bus, props.target)) {
    all.push('target: expected another bus than the one subscribed to: otherwise events would loop');
  }
  if (all.length > 0 || !bus || 'fault' in bus) throw new SubscriptionError(scope.node.path, all);
  return bus;
}

function targetFaults(scope: Construct, { target, ...props }: AdvertSubscriptionProps): string[] {
  if (target === undefined) return [];
  const faults = (['consumer', 'visibilityTimeout', 'maxReceiveCount'] as const)
    .filter((name) => props[name] !== undefined)
    .map((name) => `${name}: expected no target with it: it is for the queue that the subscription creates`);
  if (isQueue(target) && target.fifo) {
    faults.push(
      'target: expected a standard queue: EventBridge keeps no order, and sends to FIFO as one group',
    );
  }
  const { account } = Stack.of(scope);
  const owner = target.env.account;
  if (!isBus(target) && isKnown(account) && isKnown(owner) && owner !== account) {
    faults.push(
      `target: expected one in the AWS account of the stack, ${account}: only a bus may be elsewhere`,
    );
  }
  return faults;
}

function consumerFaults({ consumer, positions, visibilityTimeout }: AdvertSubscriptionProps): string[] {
  if (!consumer) return positions ? ['positions: expected a consumer with them'] : [];
  const seconds = consumer.timeout?.toSeconds();
  if (seconds === undefined || visibilityTimeout === undefined || visibilityTimeout.toSeconds() >= seconds)
    return [];
  return [
    `visibilityTimeout: expected at least ${seconds} seconds, the timeout of the consumer: otherwise a message is delivered again while it is being handled`,
  ];
}

const isKnown = (value: string): boolean => !Token.isUnresolved(value);

function isSameBus(scope: Construct, bus: BridgeBus, target: IEventBus): boolean {
  const resolved = (value: string) => JSON.stringify(Stack.of(scope).resolve(value));
  return resolved(bus.arn) === resolved(target.eventBusArn);
}

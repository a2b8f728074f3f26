import { type Duration, Stack } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import * as v from 'valibot';
import { advertId, didYouMean, partnerAccountName, status } from '../../../shared/contract/checks.ts';
import { detailTypes } from '../../../shared/contract/names.ts';
import {
  type Fault,
  FaultsError,
  faultLines,
  givenOf,
  has,
  isObject,
  made,
  unknownIn,
  wholeFrom,
} from '../props/faults.ts';
import {
  hasAwsKey,
  isKnown,
  markOf,
  notClassicBus,
  otherAccount,
  otherRegion,
  placeOf,
  rendered,
  reservedOf,
} from '../props/resources.ts';
import { customBusEntries, customBusFaults } from './custom-bus-props.ts';
import { type AdvertFilter, contradictionsOf } from './subscription-pattern.ts';

/**
 * A queue or function of another AWS account must be allowed there (docs/subscribe/cdk.md). With a `bus` not a FIFO queue,
 * with a `customBusArn` a queue of this stack's account.
 */
export type SubscriptionTarget = IQueue | IFunction;

export type BusProps =
  | {
      /** The bridge's bus, in this AWS account and region. */
      readonly bus: IEventBus;
      readonly bridgeAccount?: never;
      readonly customBusArn?: never;
    }
  | {
      /**
       * ARN of the bridge's Custom Event Bus (output `CustomEventBusArn`), in this region, of any AWS account that the
       * bridge's settings allow. The new queue is a FIFO queue, in which each advert's events are in order.
       */
      readonly customBusArn: string;
      /**
       * Where to begin, or to begin again: `'now'`, `'oldest'` or a UTC time such as `2026-11-20T12:00:00Z`, within 90
       * days. Another value replaces the subscriber. Default `'now'`.
       */
      readonly from?: string;
      readonly bus?: never;
      readonly bridgeAccount?: never;
    }
  | {
      readonly bus?: never;
      readonly customBusArn?: never;
      /**
       * ID of the AWS account of the bridge, if it is another one. Its team creates the rule, with this subscription's
       * queue as the target.
       */
      readonly bridgeAccount: string;
    };

/** Which events, from which bus, and their target. */
export type AdvertSubscriptionProps = AdvertFilter &
  BusProps & {
    /**
     * Default: a new queue. What a function fails to handle goes to the subscription's dead letters, unless the function
     * has a destination of its own for failures; without one, it can be the target of one subscription only.
     */
    readonly target?: SubscriptionTarget;
    /**
     * Between AWS accounts: path of the role with which the bridge's account sends. Set it in both halves if the
     * bridge's account prescribes the paths of roles. Default `/advert-bridge/`.
     */
    readonly senderPath?: string;
    /**
     * The function that handles the events (`advertEventHandler`). The subscription creates the event source mapping
     * with partial batch responses and at most the function's reserved concurrency, sets the environment variables `POSITIONS_TABLE_NAME` and `DEAD_LETTER_QUEUE_URL`,
     * and grants the function access to both. Each subscription needs a function of its own.
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

/** Thrown for properties with which the subscription could not work. */
export class SubscriptionError extends FaultsError {
  override readonly name = 'SubscriptionError';
  readonly code = 'wrong-subscription';
}

export const isQueue = (value: unknown): value is IQueue => has(value, 'queueArn');
export const arnOf = (target: SubscriptionTarget): string =>
  isQueue(target) ? target.queueArn : target.functionArn;

const filterList = <S extends v.GenericSchema<unknown, unknown>>(item: S, what: string, example: string) =>
  v.optional(
    v.pipe(
      v.array(
        v.pipe(
          item,
          v.check(
            (entry) => !String(entry).includes(','),
            `expected one value without a comma: a list is ['${example}', '…']`,
          ),
        ),
        `expected a list of ${what}, such as ['${example}']`,
      ),
      v.minLength(
        1,
        `expected at least one; omit the property for all ${what}, because an empty list matches nothing`,
      ),
    ),
  );
const known = v.check((text: string) => isKnown(text), 'expected a value known at synth');
const allDetailTypes = Object.values(detailTypes);

const expectedPath = 'expected the path of a role, such as /advert-bridge/';

const entries = {
  bus: made<IEventBus>('eventBusArn', 'expected an event bus: EventBus.fromEventBusName(…)'),
  ...customBusEntries,
  bridgeAccount: v.optional(
    v.pipe(
      v.string('expected the ID of an AWS account, as text'),
      v.regex(/^\d{12}$/, 'expected the 12 digits of an AWS account'),
    ),
  ),
  partnerAccounts: filterList(partnerAccountName, 'partner accounts', 'main'),
  statuses: filterList(v.pipe(status, known), 'statuses', 'active'),
  advertIds: filterList(v.pipe(v.string('expected 1 to 20 digits, as text'), advertId), 'adverts', '123'),
  detailTypes: filterList(
    v.picklist(
      allDetailTypes,
      ({ input }) =>
        `expected one of ${allDetailTypes.join(', ')}${didYouMean(String(input), allDetailTypes)}`,
    ),
    'detail types',
    allDetailTypes[0] ?? '',
  ),
  target: v.optional(
    v.custom<SubscriptionTarget>(
      (value) => isQueue(value) || has(value, 'functionArn'),
      'expected a queue or a function; for anything else, send to a queue',
    ),
  ),
  consumer: made<LambdaFunction>('addEnvironment', 'expected a Lambda function that is made in this app'),
  positions: v.optional(
    v.custom<ITable | 'own-write'>(
      (value) => value === 'own-write' || has(value, 'tableArn'),
      "expected a table, or 'own-write'",
    ),
  ),
  visibilityTimeout: v.optional(
    v.custom<Duration>(isVisibility, 'expected a Duration from 1 second to 12 hours'),
  ),
  maxReceiveCount: wholeFrom(1),
  senderPath: v.optional(v.pipe(v.string(expectedPath), v.regex(/^\/([\w+=,.@-]+\/)+$/, expectedPath))),
};

function isVisibility(value: unknown): boolean {
  if (!isObject(value) || !('toSeconds' in value) || typeof value.toSeconds !== 'function') return false;
  const seconds: unknown = value.toSeconds();
  return typeof seconds === 'number' && seconds >= 1 && seconds <= 43_200;
}

/**
 * Checks everything that is known at synth.
 *
 * @throws {SubscriptionError} with all faults
 */
export function checkProps(scope: Construct, given: AdvertSubscriptionProps | undefined): void {
  const props = given ?? ({} as AdvertSubscriptionProps);
  const { issues } = v.safeParse(v.object(entries), props);
  // A property with a wrong type cannot be compared with the others.
  const isFine = (...names: string[]) => !issues?.some(({ path }) => names.includes(String(path?.[0]?.key)));
  const faults = faultLines(issues, [
    ...unknownIn(props, Object.keys(entries)),
    ...(isFine('partnerAccounts', 'statuses', 'advertIds', 'detailTypes') ? contradictionsOf(props) : []),
    ...(isFine('bus', 'bridgeAccount', 'customBusArn') ? subscribedBusFaults(scope, props) : []),
    ...(isFine('target') ? targetFaults(scope, props) : []),
    ...(isFine('consumer', 'visibilityTimeout') ? consumerFaults(props) : []),
    ...(isFine('positions') ? positionsFaults(scope, props) : []),
  ]);
  if (faults.length > 0)
    throw new SubscriptionError(`The subscription ${scope.node.path} has faults.`, faults);
}

function subscribedBusFaults(scope: Construct, given: AdvertSubscriptionProps): Fault[] {
  const { bus, bridgeAccount, customBusArn, ...props } = given as Partial<Record<'from', string>> &
    typeof given;
  if (customBusArn !== undefined) return customBusFaults(scope, customBusArn, given);
  if (props.from !== undefined)
    return [['from', 'expected a customBusArn with it: a classic bus keeps no events to begin from']];
  if (!bus) {
    const none =
      "expected the bridge's bus, EventBus.fromEventBusName(…), a customBusArn, or bridgeAccount for a classic bus of another";
    if (bridgeAccount === undefined) return [['bus', `${none} AWS account`]];
    const why = "expected none with bridgeAccount: the rule is in the bridge's account";
    return givenOf(props, ['target', 'partnerAccounts', 'statuses', 'advertIds', 'detailTypes'], why);
  }
  if (bridgeAccount !== undefined) return [['bridgeAccount', 'expected no bus with it']];
  const notClassic = notClassicBus(bus.eventBusArn);
  if (notClassic !== undefined) return [['bus', notClassic]];
  if (bus.eventBusName === 'default')
    return [['bus', "expected the bridge's bus: it never publishes on a default bus"]];
  const other = otherRegion(scope, bus);
  if (other !== undefined)
    return [['bus', `expected a stack in ${other}, the region of the bus: a rule must be in the same`]];
  const owner = otherAccount(scope, bus);
  if (owner === undefined) return [];
  const { account } = Stack.of(scope);
  const why = `a rule of this account on a bus of ${owner} could only send to another bus`;
  return [['bus', `expected a bus of AWS account ${account}: ${why}. Use bridgeAccount: '${owner}'`]];
}

function targetFaults(scope: Construct, { target, ...props }: AdvertSubscriptionProps): Fault[] {
  if (target === undefined) return [];
  const own = 'expected no target with it: it is for the queue that the subscription creates';
  const faults = givenOf(props, ['consumer', 'visibilityTimeout', 'maxReceiveCount'], own);
  const standard = 'expected a standard queue: EventBridge keeps no order, and sends to FIFO as one group';
  if (isQueue(target) && target.fifo && props.customBusArn === undefined) faults.push(['target', standard]);
  if (otherRegion(scope, target) !== undefined)
    faults.push(['target', `expected one in ${Stack.of(scope).region}, the region of the stack`]);
  if (!isQueue(target) && reservedOf(target) === 0)
    faults.push(['target', 'expected a function that may run: its reservedConcurrentExecutions are 0']);
  if (isQueue(target) && hasAwsKey(target) && props.customBusArn === undefined) {
    const other = "encrypted by SQS itself (QueueEncryption.SQS_MANAGED) or with a key of your own: AWS's";
    faults.push(['target', `expected a queue ${other} cannot be used by EventBridge`]);
  }
  const owner = isQueue(target) ? undefined : markOf(target, 'advert-bridge:failures');
  if (owner !== undefined) {
    const why = `what it fails to handle goes to the dead letters of ${owner}`;
    const remedy =
      'Create a second function with the same code, give it an onFailure of its own, or send to a queue';
    faults.push(['target', `expected a function of its own: ${why}. ${remedy}`]);
  }
  return faults;
}

function consumerFaults({ consumer, positions, visibilityTimeout }: AdvertSubscriptionProps): Fault[] {
  if (!consumer) return positions ? [['positions', 'expected a consumer with them']] : [];
  const other = markOf(consumer, 'advert-bridge:subscription');
  if (other !== undefined) {
    const why = `${other} has set the environment of this one. Create a second function with the same code`;
    return [['consumer', `expected a function of its own: ${why}`]];
  }
  const throttled = throttledFaults(consumer);
  if (throttled.length > 0) return throttled;
  const seconds = consumer.timeout?.toSeconds() ?? 0;
  if ((visibilityTimeout?.toSeconds() ?? seconds) >= seconds) return [];
  const why = 'otherwise a message is delivered again while it is being handled';
  return [['visibilityTimeout', `expected at least ${seconds} seconds, the timeout of the consumer: ${why}`]];
}

/** Asked again when the template is written: an Aspect may reserve concurrency. */
export function throttledFaults(consumer: IFunction): Fault[] {
  const reserved = reservedOf(consumer);
  if (reserved === undefined || reserved >= 2) return [];
  const why = `with ${reserved}, Lambda throttles what SQS hands to it, until events become dead letters`;
  return [['consumer', `expected reservedConcurrentExecutions of at least 2, or none: ${why}`]];
}

function positionsFaults(scope: Construct, { positions }: AdvertSubscriptionProps): Fault[] {
  if (positions === undefined || positions === 'own-write') return [];
  // The consumer finds the table by its name.
  if (otherRegion(scope, positions) !== undefined || otherAccount(scope, positions) !== undefined) {
    const { account, region } = Stack.of(scope);
    const { account: owner = account, region: there = region } = placeOf(positions);
    const why = `this one is in ${there} of account ${owner}`;
    return [['positions', `expected a table in the region and AWS account of the stack: ${why}`]];
  }
  const { KeySchema, AttributeDefinitions } = rendered(positions)?.Properties ?? {};
  if (!Array.isArray(KeySchema)) return [];
  const keys = KeySchema.map(({ AttributeName: name }) => {
    const found = AttributeDefinitions?.find(
      (each: { AttributeName: string }) => each.AttributeName === name,
    );
    return `${name} (${found?.AttributeType})`;
  });
  if (keys.join() === 'pk (S)') return [];
  const has = `this one has ${keys.join(' and ')}`;
  return [['positions', `expected a table with the partition key pk (S) and no sort key: ${has}`]];
}

import { Stack } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import type { Construct } from 'constructs';
import * as v from 'valibot';
import { instant } from '../../../shared/contract/checks.ts';
import { type Fault, givenOf, has } from '../props/faults.ts';
import { isKnown, otherAccount } from '../props/resources.ts';

interface CustomProps {
  readonly bus?: unknown;
  readonly bridgeAccount?: unknown;
  readonly senderPath?: unknown;
  readonly target?: IQueue | IFunction;
}

const expectedCustomBus =
  'expected the ARN of a Custom Event Bus, as in the output CustomEventBusArn: arn:aws:events:REGION:ACCOUNT:event-busv2/NAME/ID';
const customBus =
  /^arn:aws[a-z0-9-]*:events:[a-z0-9-]+:\d{12}:event-busv2\/[A-Za-z0-9][\w.-]*\/[a-z0-9]{25}$/;
const customBusFlaws: readonly (readonly [flaw: RegExp, expected: string])[] = [
  [/:event-bus\//, 'expected no classic bus, as this one is: give it as bus, EventBus.fromEventBusArn(…)'],
  [/:event-busv2\/(?!.*\/[a-z0-9]{25}$)/, 'expected the ID behind the name, too: 25 letters and digits'],
];
const isStart = (from: string): boolean =>
  from === 'now' || from === 'oldest' || (v.is(instant, from) && Date.parse(from) <= Date.now());
const expectedStart = "expected 'now', 'oldest' or a past UTC time such as 2026-11-20T12:00:00Z";

export const customBusEntries = {
  customBusArn: v.optional(
    v.pipe(
      v.string(expectedCustomBus),
      v.check(
        (arn) => !isKnown(arn) || customBus.test(arn),
        ({ input }) => customBusFlaws.find(([flaw]) => flaw.test(input))?.[1] ?? expectedCustomBus,
      ),
    ),
  ),
  from: v.optional(v.pipe(v.string(expectedStart), v.check(isStart, expectedStart))),
};

/** @param given of the subscription @see subscription-props.ts */
export function customBusFaults(scope: Construct, arn: string, given: CustomProps): Fault[] {
  const { target, ...props } = given;
  const alone = 'expected no customBusArn with it: a subscription has one bus';
  const faults = givenOf(props, ['bus', 'bridgeAccount'], alone);
  faults.push(
    ...givenOf(props, ['senderPath'], 'expected none with customBusArn: nothing is sent to another account'),
  );
  const { region } = Stack.of(scope);
  const [, inPartition = '', , inRegion = ''] = arn.split(':');
  const { partition } = RegionInfo.get(inRegion);
  if (isKnown(arn) && isKnown(region) && region !== inRegion) {
    const why = 'the region of the bus: its subscribers must be there';
    faults.push(['customBusArn', `expected a stack in ${inRegion}, ${why}`]);
  } else if (isKnown(arn) && partition !== undefined && partition !== inPartition)
    faults.push(['customBusArn', `expected a bus in the partition ${partition}, not in ${inPartition}`]);
  if (target === undefined) return faults;
  if (!has(target, 'queueArn'))
    faults.push([
      'target',
      'expected a queue: this bus hands batches to functions, which the kit does not read',
    ]);
  else if (otherAccount(scope, target) !== undefined)
    faults.push([
      'target',
      'expected a queue of this AWS account: make the subscription in that of the queue',
    ]);
  return faults;
}

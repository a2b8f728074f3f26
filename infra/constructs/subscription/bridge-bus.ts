import { Stack, Token } from 'aws-cdk-lib';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';

/** The bridge's bus, as a subscriber's stack sees it. */
export interface BridgeBus {
  readonly arn: string;
  /** Value for `EventBusName` of a rule: the name, or the ARN if the bus belongs to another AWS account. */
  readonly reference: string;
  /** Only set if the bus belongs to another AWS account. */
  readonly elsewhere?: {
    readonly partition: string;
    readonly region: string;
    readonly account: string;
    readonly name: string;
  };
}

const busArn = /^arn:([\w-]+):events:([a-z0-9-]+):(\d{12}):event-bus\/([A-Za-z0-9._-]{1,256})$/;
const example = 'arn:aws:events:eu-central-1:111122223333:event-bus/adverts';

/** Determines where the bus is, or returns why it cannot be used. */
export function bridgeBusOf(
  scope: Construct,
  { bus, busArn: givenArn }: { readonly bus?: IEventBus; readonly busArn?: string },
): BridgeBus | { readonly fault: string } {
  if ((bus === undefined) === (givenArn === undefined))
    return { fault: 'bus: expected either bus or busArn' };
  const arn = givenArn ?? bus?.eventBusArn ?? '';
  const property = bus ? 'bus' : 'busArn';
  if (Token.isUnresolved(arn)) {
    if (!bus) return { fault: `busArn: expected an ARN known at synth, such as ${example}` };
    if (bus.eventBusName === 'default') return { fault: notDefault(property) };
    return { arn, reference: bus.eventBusName };
  }
  const [, partition = '', region = '', account = '', name = ''] = busArn.exec(arn) ?? [];
  if (!name) return { fault: `${property}: expected the ARN of an event bus, such as ${example}` };
  if (name === 'default') return { fault: notDefault(property) };
  const stack = Stack.of(scope);
  if (!Token.isUnresolved(stack.region) && stack.region !== region) {
    return {
      fault: `${property}: expected a stack in ${region}, the region of the bus: a rule must be in the region of its bus`,
    };
  }
  if (Token.isUnresolved(stack.account)) {
    return {
      fault: `${property}: expected a stack with env: { account, region }: the resources depend on whether the bus belongs to another AWS account. If it is in the same account: bus: EventBus.fromEventBusName(…)`,
    };
  }
  if (stack.account === account) return { arn, reference: name };
  return { arn, reference: arn, elsewhere: { partition, region, account, name } };
}

const notDefault = (property: string): string =>
  `${property}: expected the bridge's bus: it never publishes on a default bus`;

import { PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { detailTypes, eventSource } from '../../../shared/contract/names.ts';
import { awsAccount, type Cloud } from '../emulator/cloud.ts';
import { takeMessages } from './messages.ts';

/** An event as EventBridge delivers it to a target. */
export type Received = Readonly<Record<string, unknown>>;

export interface Subscriber {
  /** All received events, oldest first. */
  readonly received: readonly Received[];
  /** Reads the queue until `enough` returns true for all received events. @returns whether it did in time */
  readUntil(enough: (received: readonly Received[]) => boolean, timeoutMs: number): Promise<boolean>;
}

const ofAdverts = { team: 'another-teams', types: [detailTypes.statusChanged, detailTypes.unavailable] };

/**
 * The part of another team: its own queue, and a rule on the bus that fills it. Nothing of the bridge is changed for
 * this.
 */
export async function subscribe(
  cloud: Cloud,
  busName: string,
  { team, types }: { readonly team: string; readonly types: readonly string[] } = ofAdverts,
): Promise<Subscriber> {
  const { eventBridge, sqs } = cloud;
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `${team}-adverts` }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const queueArn = Attributes?.QueueArn;
  const { RuleArn } = await eventBridge.send(
    new PutRuleCommand({
      Name: `${team}-rule`,
      EventBusName: busName,
      EventPattern: JSON.stringify({
        source: [eventSource],
        'detail-type': types,
      }),
    }),
  );
  await sqs.send(
    new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy: policy(queueArn, RuleArn) } }),
  );
  const { FailedEntryCount } = await eventBridge.send(
    new PutTargetsCommand({
      Rule: `${team}-rule`,
      EventBusName: busName,
      Targets: [{ Id: 'queue', Arn: queueArn }],
    }),
  );
  if (FailedEntryCount) throw new Error("the rule's target was refused");

  const received: Received[] = [];

  return {
    received,
    async readUntil(enough, timeoutMs) {
      const until = Date.now() + timeoutMs;
      while (!enough(received) && Date.now() < until) {
        const bodies = await takeMessages(sqs, QueueUrl, 1);
        received.push(...bodies.map((body) => JSON.parse(body)));
      }
      return enough(received);
    },
  };
}

const policy = (queueArn?: string, ruleArn?: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: { Service: 'events.amazonaws.com' },
        Action: 'sqs:SendMessage',
        Resource: queueArn,
        Condition: {
          ArnEquals: { 'aws:SourceArn': ruleArn },
          StringEquals: { 'aws:SourceAccount': awsAccount },
        },
      },
    ],
  });

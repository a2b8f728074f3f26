import { PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { detailTypes, eventSource } from '../../../shared/contract/names.ts';
import type { Cloud } from '../emulator/cloud.ts';

/** An event as EventBridge delivers it to a target. */
export type Received = Readonly<Record<string, unknown>>;
export type Subscriber = Awaited<ReturnType<typeof subscribe>>;

const ofAdverts = [detailTypes.statusChanged, detailTypes.unavailable] as readonly string[];

/**
 * The part of another team: its own queue, and a rule on the bus that fills it. Nothing of the bridge is changed for
 * this.
 */
export async function subscribe(
  { eventBridge, sqs }: Cloud,
  EventBusName: string,
  { team = 'another-teams', types = ofAdverts } = {},
) {
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `${team}-adverts` }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const Arn = Attributes?.QueueArn;
  const Name = `${team}-rule`;
  const EventPattern = JSON.stringify({ source: [eventSource], 'detail-type': types });
  const { RuleArn = '' } = await eventBridge.send(new PutRuleCommand({ Name, EventBusName, EventPattern }));
  const Policy = JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: { Service: 'events.amazonaws.com' },
        Action: 'sqs:SendMessage',
        Resource: Arn,
        Condition: { ArnEquals: { 'aws:SourceArn': RuleArn } },
      },
    ],
  });
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy } }));
  const { FailedEntryCount } = await eventBridge.send(
    new PutTargetsCommand({ Rule: Name, EventBusName, Targets: [{ Id: 'queue', Arn }] }),
  );
  if (FailedEntryCount) throw new Error("the rule's target was refused");

  const received: Received[] = [];
  return {
    queueUrl: QueueUrl,
    ruleArn: RuleArn,
    /** All received events, oldest first. */
    received: received as readonly Received[],
    /** Reads the queue until `enough` returns true for all received events. @returns whether it did in time */
    async readUntil(enough: (received: readonly Received[]) => boolean, timeoutMs: number): Promise<boolean> {
      for (const end = Date.now() + timeoutMs; !enough(received) && Date.now() < end; ) {
        const { Messages = [] } = await sqs.send(
          new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
        );
        for (const { ReceiptHandle } of Messages)
          await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
        received.push(...Messages.map(({ Body = '' }) => JSON.parse(Body)));
      }
      return enough(received);
    },
  };
}

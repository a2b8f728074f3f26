import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteItemCommand, paginateScan } from '@aws-sdk/client-dynamodb';
import { CreateArchiveCommand, DescribeReplayCommand, StartReplayCommand } from '@aws-sdk/client-eventbridge';
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import type { Cloud } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import type { Outputs } from './cdk.ts';
import { deployExample } from './example.ts';
import type { Received } from './subscriber.ts';

/** examples/search-index, deployed. */
export interface SearchIndex {
  /** The status of each advert in its table, by `<partnerAccount>/<advertId>`; null: unavailable. */
  statuses(): Promise<Record<string, string | null>>;
  /** Sends these events to its queue again, as a bus with at-least-once delivery may do. */
  sendAgain(events: readonly Received[]): Promise<void>;
  /** Deletes everything that it has stored. */
  empty(): Promise<void>;
  /** Replays the complete archive of the bus. @returns the state in which the replay ended */
  replay(name: string): Promise<string>;
  /** @returns whether its queue became empty, with no message in flight, within the time */
  idle(timeoutMs: number): Promise<boolean>;
  /** Puts a body into its queue unchanged. */
  sendBody(body: string): Promise<void>;
  /** Number of messages in its dead-letter queue. */
  deadLetters(): Promise<number>;
  /** Removes the next dead letter. @returns its body, and why it was dead-lettered */
  takeDeadLetter(): Promise<{ readonly body: string; readonly errorCode: string | undefined } | undefined>;
}

interface SearchIndexOutputs {
  readonly TableName: string;
  readonly QueueUrl: string;
  readonly DeadLetterQueueUrl: string;
}

const archive = 'everything';

/**
 * Deploys examples/search-index, with an archive of the bus, which the emulator's CloudFormation does not support.
 */
export async function deploySearchIndex(
  cloud: Cloud,
  bridge: Outputs,
  env: Record<string, string>,
  folder: string,
  processes: Processes,
): Promise<SearchIndex> {
  await cloud.eventBridge.send(
    new CreateArchiveCommand({ ArchiveName: archive, EventSourceArn: bridge.eventBusArn }),
  );
  const { SearchIndex: outputs } = await deployExample('search-index', bridge, env, folder, processes);
  return searchIndexOn(cloud, bridge.eventBusArn, outputs as SearchIndexOutputs);
}

function searchIndexOn(
  { dynamo, eventBridge, sqs }: Cloud,
  busArn: string,
  outputs: SearchIndexOutputs,
): SearchIndex {
  const { TableName, QueueUrl, DeadLetterQueueUrl } = outputs;

  async function statuses(): Promise<Record<string, string | null>> {
    const kept: Record<string, string | null> = {};
    for await (const { Items = [] } of paginateScan(
      { client: dynamo },
      { TableName, ConsistentRead: true },
    )) {
      for (const { pk, status } of Items) kept[pk?.S ?? ''] = status?.S ?? null;
    }
    return kept;
  }

  async function sendBody(body: string): Promise<void> {
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }));
  }

  async function messagesIn(queueUrl: string): Promise<number> {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }),
    );
    const { ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible } = Attributes;
    return Number(ApproximateNumberOfMessages) + Number(ApproximateNumberOfMessagesNotVisible);
  }

  return {
    statuses,
    deadLetters: () => messagesIn(DeadLetterQueueUrl),
    async takeDeadLetter() {
      const { Messages: [letter] = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: DeadLetterQueueUrl,
          MessageAttributeNames: ['All'],
          WaitTimeSeconds: 20,
        }),
      );
      if (!letter) return undefined;
      const { Body: body = '', MessageAttributes, ReceiptHandle } = letter;
      await sqs.send(new DeleteMessageCommand({ QueueUrl: DeadLetterQueueUrl, ReceiptHandle }));
      return { body, errorCode: MessageAttributes?.errorCode?.StringValue };
    },
    sendBody,
    async sendAgain(events) {
      for (const event of events) await sendBody(JSON.stringify(event));
    },
    async empty() {
      for (const pk of Object.keys(await statuses())) {
        await dynamo.send(new DeleteItemCommand({ TableName, Key: { pk: { S: pk } } }));
      }
    },
    async replay(name) {
      const archiveArn = busArn.replace(/event-bus\/.*/, `archive/${archive}`);
      await eventBridge.send(
        new StartReplayCommand({
          ReplayName: name,
          EventSourceArn: archiveArn,
          Destination: { Arn: busArn },
          EventStartTime: new Date(0),
          EventEndTime: new Date(),
        }),
      );
      for (;;) {
        const { State = '' } = await eventBridge.send(new DescribeReplayCommand({ ReplayName: name }));
        if (!['STARTING', 'RUNNING'].includes(State)) return State;
        await sleep(200);
      }
    },
    async idle(limitMs) {
      const until = Date.now() + limitMs;
      while (Date.now() < until) {
        if ((await messagesIn(QueueUrl)) === 0) return true;
        await sleep(200);
      }
      return false;
    },
  };
}

import { randomUUID } from 'node:crypto';
import {
  DeleteRuleCommand,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteQueueCommand,
  ListQueuesCommand,
  ListQueueTagsCommand,
  ReceiveMessageCommand,
  type SQSClient,
  TagQueueCommand,
} from '@aws-sdk/client-sqs';
import { eventSource } from '../../../shared/contract/names.ts';
import type { Bridge } from '../../operations/bridge.ts';
import { failed } from '../../operations/errors.ts';
import { type StackClients, unlessMissing } from '../../operations/stack-clients.ts';
import type { StackOutputs } from '../../operations/stack-outputs.ts';
import { tailPrefix } from '../../operations/stack-state.ts';

/** Tags of a queue: the bus of its rule, and the time of its tail's last heartbeat. */
const tags = { bus: 'advert-bridge:tail-bus', aliveAt: 'advert-bridge:tail-alive-at' } as const;
const signOfLifeMs = 60_000;
const leftAfterMs = 10 * signOfLifeMs;
const targetId = 'tail';
/** Shorter than the time limit of the client's requests. */
const waitSeconds = 2;

type Clients = Pick<StackClients, 'sqs' | 'events'>;

export async function* tailBus(
  { clients, outputs }: { readonly clients: Clients; readonly outputs: StackOutputs },
  partnerAccount: string | undefined,
  { say, signal }: Parameters<Bridge['events']>[1],
): AsyncGenerator<readonly string[]> {
  const { eventBusName: bus, eventBusArn } = outputs;
  if (bus === undefined || eventBusArn === undefined)
    throw failed('no-rule', { name: outputs.bridgeName, buses: "['classic', 'custom']" });
  await removeLeftovers(clients);
  /** Of the queue and of the rule. */
  const name = `${tailPrefix}${randomUUID().slice(0, 13)}`;
  const ruleArn = `${eventBusArn.replace(':event-bus/', ':rule/')}/${name}`;
  const queueArn = eventBusArn.replace(/:events:(.*):event-bus\/.*/, `:sqs:$1:${name}`);
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'events.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: '*',
    Condition: { ArnEquals: { 'aws:SourceArn': ruleArn } },
  };
  // The queue is created first, because a rule without a queue would not be found again.
  const { QueueUrl: queueUrl = '' } = await clients.sqs.send(
    new CreateQueueCommand({
      QueueName: name,
      Attributes: {
        // Otherwise the rules and queues of killed tails would accumulate.
        MessageRetentionPeriod: '600',
        Policy: JSON.stringify({ Version: '2012-10-17', Statement: [statement] }),
      },
      tags: { [tags.bus]: bus, [tags.aliveAt]: new Date().toISOString() },
    }),
  );
  try {
    const ofAccount = partnerAccount && { detail: { metadata: { partnerAccount: [partnerAccount] } } };
    const EventPattern = JSON.stringify({ source: [eventSource], ...ofAccount });
    const Description = 'Made by advert-bridge tail, which removes it.';
    const rule = new PutRuleCommand({ Name: name, EventBusName: bus, Description, EventPattern });
    await clients.events.send(rule);
    const Targets = [{ Id: targetId, Arn: queueArn }];
    const put = new PutTargetsCommand({ Rule: name, EventBusName: bus, Targets });
    const { FailedEntries: [refused] = [] } = await clients.events.send(put);
    if (refused) throw failed('no-target', { code: refused.ErrorCode, message: refused.ErrorMessage });
    say('Events appear here from now on. Ctrl-C ends it.');
    yield* received(clients.sqs, queueUrl, signal);
  } finally {
    await removeTail(clients, bus, queueUrl);
  }
}

async function* received(sqs: SQSClient, queueUrl: string, signal: AbortSignal): AsyncGenerator<string[]> {
  for (let aliveAt = Date.now(); !signal.aborted; ) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: waitSeconds,
      }),
    );
    if (Messages.length > 0) {
      yield Messages.map(({ Body = '' }) => envelopeInBody(Body));
      const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
      await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
    }
    if (Date.now() - aliveAt < signOfLifeMs) continue;
    aliveAt = Date.now();
    const Tags = { [tags.aliveAt]: new Date(aliveAt).toISOString() };
    await sqs.send(new TagQueueCommand({ QueueUrl: queueUrl, Tags }));
  }
}

/** Without the fields that EventBridge adds, so that the line is the same as an embedded bridge's. */
function envelopeInBody(body: string): string {
  const { source, 'detail-type': detailType, time, resources, detail } = JSON.parse(body);
  return JSON.stringify({ source, 'detail-type': detailType, time, resources, detail });
}

/** The queue is deleted last, because the other resources are found through it. */
async function removeTail({ sqs, events }: Clients, bus: string, queueUrl: string): Promise<void> {
  const name = queueUrl.split('/').at(-1);
  const ofRule = new RemoveTargetsCommand({ Rule: name, EventBusName: bus, Ids: [targetId] });
  await unlessMissing(events.send(ofRule));
  await unlessMissing(events.send(new DeleteRuleCommand({ Name: name, EventBusName: bus })));
  await unlessMissing(sqs.send(new DeleteQueueCommand({ QueueUrl: queueUrl })));
}

/** Of killed tails of any bridge in this region: those without a heartbeat for ten minutes. */
async function removeLeftovers(clients: Clients): Promise<void> {
  const listed = new ListQueuesCommand({ QueueNamePrefix: tailPrefix, MaxResults: 1000 });
  const { QueueUrls = [] } = await clients.sqs.send(listed);
  for (const queueUrl of QueueUrls) {
    const found = await unlessMissing(clients.sqs.send(new ListQueueTagsCommand({ QueueUrl: queueUrl })));
    const { [tags.bus]: bus, [tags.aliveAt]: aliveAt = '' } = found?.Tags ?? {};
    // A queue without these tags does not belong to a tail, whatever its name.
    if (bus === undefined || !(Date.now() - Date.parse(aliveAt) > leftAfterMs)) continue;
    await removeTail(clients, bus, queueUrl);
  }
}

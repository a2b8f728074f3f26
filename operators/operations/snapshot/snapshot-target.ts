/** The destination of a snapshot: one queue or one bus of a subscriber. */
import { createHash } from 'node:crypto';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import {
  classicEventBus,
  createEventPublisher,
  RefusedEventError,
} from '../../../shared/aws/event-publisher.ts';
import { handlerOptions } from '../../../shared/aws/handler-options.ts';
import { sendBatches } from '../../../shared/aws/sqs.ts';
import { UsageError } from '../errors.ts';
import type { StackOutputs } from '../stack-outputs.ts';

/** Sends recorded events unchanged. @returns how many were not accepted */
type Send = (envelopes: readonly string[]) => Promise<number>;

const queueArn = /^arn:[a-z-]+:sqs:([a-z0-9-]+):(\d{12}):([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$/;
const busArn = /^arn:[a-z-]+:events:([a-z0-9-]+):\d{12}:event-bus\/[A-Za-z0-9._/-]{1,256}$/;
const queueUrl = /^https?:\/\/[^/]+\/\d{12}\/[A-Za-z0-9_-]{1,80}(\.fifo)?$/;
/** Another host would get the events of every partner account. An ARN needs no host. */
const queueHost =
  /^https:\/\/(vpce-[a-z0-9-]+\.)?sqs(-fips)?\.[a-z]+(-[a-z]+)+-\d(\.vpce)?\.amazonaws\.com(\.cn)?$/;

const inRegion = (region: string | undefined) => ({
  maxAttempts: 4,
  requestHandler: handlerOptions({ connectionTimeout: 3_000, requestTimeout: 8_000 }),
  ...(region && { region }),
});

/** @throws {UsageError} when `to` is neither a queue nor a bus, or the bridge's own */
export async function openTarget(to: string, outputs: StackOutputs): Promise<Send> {
  const [isBus, busRegion] = busArn.exec(to) ?? [];
  if (isBus) return sendToBus(to, busRegion, outputs);
  const [isArn, region, owner, name] = queueArn.exec(to) ?? [];
  if (!isArn && !queueUrl.test(to)) {
    throw new UsageError(
      '--to: expected the URL or ARN of an SQS queue, or the ARN of an event bus, such as ' +
        'arn:aws:sqs:eu-central-1:111122223333:search-adverts',
    );
  }
  const origin = URL.parse(to)?.origin ?? '';
  if (!isArn && !queueHost.test(origin) && origin !== URL.parse(outputs.queueUrl)?.origin)
    throw new UsageError(`--to: ${origin} is no address of SQS. Give the queue's ARN`);
  const client = new SQSClient(inRegion(region));
  const byName = new GetQueueUrlCommand({ QueueName: name, QueueOwnerAWSAccountId: owner });
  const { QueueUrl: url = to } = isArn ? await client.send(byName) : {};
  const pathOf = (queue: string) => URL.parse(queue)?.pathname;
  if ([outputs.queueUrl, outputs.deadLetterQueueUrl].some((own) => pathOf(own) === pathOf(url)))
    throw new UsageError("--to: this is the bridge's own queue. Give a queue of the subscriber");
  const batchEntry = (envelope: string, index: number) => {
    const event = JSON.parse(envelope);
    const ofGroup = {
      MessageGroupId: hexDigest(event.resources[0]),
      MessageDeduplicationId: hexDigest(`snapshot ${event.detail.metadata.eventId}`),
    };
    const MessageBody = asDelivered(event, outputs.eventBusArn ?? outputs.customEventBusArn ?? '');
    return { key: String(index), MessageBody, ...(url.endsWith('.fifo') && ofGroup) };
  };
  return async (envelopes) => (await sendBatches({ client, url }, envelopes.map(batchEntry))).size;
}

function sendToBus(to: string, region: string | undefined, { eventBusArn }: StackOutputs): Send {
  if (to === eventBusArn) {
    throw new UsageError(
      "--to: this is the bridge's own bus, where every subscriber would get the events. Give a queue or a bus of the subscriber",
    );
  }
  const publisher = createEventPublisher(classicEventBus(new EventBridgeClient(inRegion(region)), to));
  return async (envelopes) => {
    const sent = await Promise.allSettled(envelopes.map((envelope) => publisher.publish(envelope)));
    const refused = sent.filter((each) => each.status === 'rejected');
    const [first] = refused;
    // The error of the call itself, such as a denial, is more informative than a count.
    if (first?.reason instanceof RefusedEventError && first.reason.cause) throw first.reason.cause;
    return refused.length;
  };
}

/**
 * The event as EventBridge would have put it into the queue. Its `id` is derived from the `eventId`, so that a
 * repeated snapshot sends the same text.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html
 */
function asDelivered(event: { detail: { metadata: { eventId: string } } }, bus: string): string {
  const [, , , region, account] = bus.split(':');
  const hash = hexDigest(event.detail.metadata.eventId);
  const id = [8, 4, 4, 4, 12].map((length, part) => hash.slice(part * 12, part * 12 + length)).join('-');
  return JSON.stringify({ version: '0', id, account, region, ...event });
}

const hexDigest = (text: string): string => createHash('sha256').update(text).digest('hex');

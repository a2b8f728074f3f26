import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { check, type Finding, fault, together, warning } from '../../../../operations/doctor.ts';
import type { Queue } from '../../../../shared/aws/sqs/send-batches.ts';
import { maxReceiveCount } from '../../../../shared/contract/messages.ts';
import type { Facts } from './facts.ts';

/** The values from infra/constructs/changed-adverts.ts: ten times the timeout of fan-out, and the maximum retention. */
const visibilitySeconds = 600;
const retentionSeconds = 14 * 86_400;

type Attributes = Readonly<Record<string, string>>;

export const queueCheck = ({ bridge }: Facts) =>
  check('queues', async () => {
    const { changedAdverts: queue, deadLetterQueue } = await bridge();
    const [main, dead] = await Promise.all([attributesOf(queue), attributesOf(deadLetterQueue)]);
    const set = (url: string, name: string, value: unknown) =>
      `\`aws sqs set-queue-attributes --queue-url ${url} --attributes '${JSON.stringify({ [name]: value })}'\``;

    const findings: Finding[] = [];
    for (const [{ url }, found] of [
      [queue, main],
      [deadLetterQueue, dead],
    ] as const) {
      if (Number(found.MessageRetentionPeriod) < retentionSeconds) {
        findings.push(
          warning(
            `${url} keeps messages for ${found.MessageRetentionPeriod} s only: what waits longer is lost`,
            set(url, 'MessageRetentionPeriod', String(retentionSeconds)),
          ),
        );
      }
    }
    if (Number(main.VisibilityTimeout) < visibilitySeconds) {
      findings.push(
        warning(
          `messages of ${queue.url} come back after ${main.VisibilityTimeout} s, perhaps while fan-out still works on them`,
          set(queue.url, 'VisibilityTimeout', String(visibilitySeconds)),
        ),
      );
    }
    const policy = JSON.parse(main.RedrivePolicy ?? '{}') as {
      deadLetterTargetArn?: string;
      maxReceiveCount?: unknown;
    };
    if (policy.deadLetterTargetArn !== dead.QueueArn || Number(policy.maxReceiveCount) < maxReceiveCount) {
      const wanted = { deadLetterTargetArn: dead.QueueArn, maxReceiveCount };
      findings.push(
        fault(
          `${queue.url} does not move messages to the dead letters after ${maxReceiveCount} receives`,
          set(queue.url, 'RedrivePolicy', JSON.stringify(wanted)),
        ),
      );
    }
    return together('both are as the stack makes them', findings);
  });

async function attributesOf({ client, url }: Queue): Promise<Attributes> {
  const asked = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] });
  return (await client.send(asked)).Attributes ?? {};
}

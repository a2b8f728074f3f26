import { Duration } from 'aws-cdk-lib';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { maxReceiveCount } from '../../shared/contract/messages.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

export interface ChangedAdvertsProps {
  readonly settings: BridgeConfig;
  /** Timeout of the function that receives from the queue. */
  readonly receiverTimeout: Duration;
}

/** The longest that SQS allows: a change must outlast any outage of the fan-out. */
const retentionPeriod = Duration.days(14);
/**
 * AWS advises six times for a queue that a function receives from, for batches whose delivery was throttled. Ten, because
 * a message whose function crashed or was cut off comes back when this ends, and must not come more than 200 times a day.
 * A worker that runs even longer is stopped by the position that each advert's row keeps.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
 */
const visibilityPerTimeout = 10;

/** The queue between drain and fan-out, one message group for each advert, and the dead letters of both. */
export class ChangedAdverts extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, { settings, receiverTimeout }: ChangedAdvertsProps) {
    super(scope, id);
    const { encryptionKey, removalPolicy } = settings;
    const safe = {
      fifo: true,
      ...(encryptionKey
        ? { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }
        : { encryption: QueueEncryption.SQS_MANAGED }),
      enforceSSL: true,
      retentionPeriod,
      // The cursor has passed what waits here: were the queues to go with the stack, it would be lost.
      removalPolicy,
    };
    this.deadLetters = new Queue(this, 'DeadLetters', safe);
    this.queue = new Queue(this, 'Queue', {
      ...safe,
      // High throughput: the limits are those of a message group, and every advert is one.
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      visibilityTimeout: Duration.seconds(receiverTimeout.toSeconds() * visibilityPerTimeout),
      // Fan-out sends dead letters itself, after it has noted the event that it owes. SQS does it only where even that fails.
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount },
    });
  }
}

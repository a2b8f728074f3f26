import { Duration } from 'aws-cdk-lib';
import {
  DeduplicationScope,
  FifoThroughputLimit,
  Queue,
  QueueEncryption,
  RedrivePermission,
} from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { maxReceiveCount } from '../../shared/contract/messages.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/**
 * A batch waits for its share of the rate budget, and sometimes for a token refresh. Each fetch ends well before this
 * timeout of fan-out.
 */
export const fanOutTimeout = Duration.minutes(1);

/** The maximum of SQS: a change must survive any outage of fan-out. */
const retentionPeriod = Duration.days(14);
/**
 * Multiple of fan-out's timeout. AWS recommends six, because of batches whose delivery was throttled.
 * Ten, because a message whose function crashed or timed out becomes visible again after this time, and must not be
 * received more than 200 times a day. A worker that runs even longer is stopped by the etag of each advert's row.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
 */
const visibilityPerTimeout = 10;

/** The queue between drain and fan-out. Its dead-letter queue is only a backstop: dead letters are rows. */
export class ChangedAdverts extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, { encryptionKey, removalPolicy }: BridgeConfig) {
    super(scope, id);
    const safe = {
      fifo: true,
      ...(encryptionKey
        ? { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }
        : { encryption: QueueEncryption.SQS_MANAGED }),
      enforceSSL: true,
      retentionPeriod,
      // The cursor has passed the changes that wait here: if the queues were deleted with the stack, they would be
      // lost.
      removalPolicy,
    };
    this.deadLetters = new Queue(this, 'DeadLetters', safe);
    this.queue = new Queue(this, 'Queue', {
      ...safe,
      // High throughput mode: the limits apply to each message group, and every advert is one.
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      visibilityTimeout: Duration.seconds(fanOutTimeout.toSeconds() * visibilityPerTimeout),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount },
      // No other queue may send its dead letters here. The dead-letter queue cannot name this queue as its only source:
      // each would need the name of the other first.
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
    });
  }
}

import { Duration, Stack } from 'aws-cdk-lib';
import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';

export class SearchStack extends Stack {
  readonly deadLetters = new Queue(this, 'DeadLetters', { retentionPeriod: Duration.days(14) });
  readonly queue = new Queue(this, 'AdvertChanges', {
    visibilityTimeout: Duration.minutes(3),
    deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: 10 },
  });
  /** For `addEventSource` of your function. Without reportBatchItemFailures, Lambda deletes events that failed. */
  readonly events = new SqsEventSource(this.queue, { reportBatchItemFailures: true });
  readonly rule = new Rule(this, 'OnAdvertChange', {
    eventBus: EventBus.fromEventBusName(this, 'Adverts', 'adverts'),
    eventPattern: { source: ['advert-bridge'], detailType: ['AdvertStatusChanged', 'AdvertUnavailable'] },
    targets: [new SqsQueue(this.queue, { deadLetterQueue: this.deadLetters })],
  });
}

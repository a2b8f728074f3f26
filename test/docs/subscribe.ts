import { Stack } from 'aws-cdk-lib';
import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { Queue } from 'aws-cdk-lib/aws-sqs';

export class SearchStack extends Stack {
  readonly queue = new Queue(this, 'AdvertChanges');
  readonly rule = new Rule(this, 'OnAdvertChange', {
    eventBus: EventBus.fromEventBusName(this, 'Adverts', 'adverts'),
    eventPattern: { source: ['advert-bridge'], detailType: ['AdvertStatusChanged'] },
    targets: [new SqsQueue(this.queue)],
  });
}

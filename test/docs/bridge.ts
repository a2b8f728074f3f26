import { AdvertBridge } from 'advert-bridge/cdk';
import { Stack } from 'aws-cdk-lib';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Topic } from 'aws-cdk-lib/aws-sns';

export class ShopStack extends Stack {
  readonly pager = new Topic(this, 'Pager');
  readonly bridge = new AdvertBridge(this, 'Adverts', {
    partnerBaseUrl: 'https://partner.example',
    alarmTopic: this.pager,
  });
  readonly search = this.bridge.subscribe(this, 'Search', { detailTypes: ['AdvertStatusChanged'] });
  readonly busy = this.bridge.metrics.events
    .createAlarm(this, 'Busy', { threshold: 100_000, evaluationPeriods: 1 })
    .addAlarmAction(new SnsAction(this.pager));
}

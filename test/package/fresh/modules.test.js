/* global expect, test */
// A test in a project of ES modules with Jest 29, which gives a module no `import.meta.dirname`.
import { AdvertBridge } from 'advert-bridge/cdk';
import { AdvertSubscription } from 'advert-bridge-kit/cdk';
import { advertEventHandler } from 'advert-bridge-kit/subscriber';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';

test('the constructs synthesize, and the handler loads', () => {
  const stack = new Stack(new App(), 'Shop');
  new AdvertBridge(stack, 'Adverts', { partnerBaseUrl: 'https://partner.example' });
  new AdvertSubscription(stack, 'Received', { bridgeAccount: '111111111111' });

  Template.fromStack(stack).hasResource('AWS::Events::EventBus', {});
  expect(typeof advertEventHandler).toBe('function');
});

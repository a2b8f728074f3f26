/** Synthesizes a bridge, in a project with the CDK version under test. */
const { AdvertBridge } = require('advert-bridge/cdk');
const { App, Stack } = require('aws-cdk-lib');
const { Template } = require('aws-cdk-lib/assertions');

const stack = new Stack(new App(), 'Shop', { env: { account: '222222222222', region: 'eu-central-1' } });
const settings = { alarmEmail: 'team@example.com', dashboard: true, subscriberAccounts: ['111111111111'] };
const eventBuses = ['classic', 'custom'];
new AdvertBridge(stack, 'Adverts', { partnerBaseUrl: 'https://partner.example', ...settings, eventBuses });
const { Resources } = Template.fromStack(stack).toJSON();
process.stdout.write(`${Object.keys(Resources).length} resources\n`);

import { App } from 'aws-cdk-lib';
import { MinimalStack } from './stack.ts';

const app = new App();
new MinimalStack(app, 'MinimalSubscriber', { busName: app.node.tryGetContext('busName') ?? 'adverts' });

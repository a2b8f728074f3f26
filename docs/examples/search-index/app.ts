import { App } from 'aws-cdk-lib';
import { SearchIndexStack } from './stack.ts';

const app = new App();
new SearchIndexStack(app, 'SearchIndex', { busName: app.node.tryGetContext('busName') ?? 'adverts' });

import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { readSettings } from './config.ts';
import { FaultsError } from './constructs/props/faults.ts';
import { AdvertBridgeStack } from './stack.ts';

const app = new App({ analyticsReporting: false });

try {
  new AdvertBridgeStack(app, readSettings(app.node));
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  // cdk-nag reads deprecated properties of the bus policy. Warnings about this repository's own code were printed
  // before this point.
  process.env.JSII_DEPRECATED = 'quiet';
  app.synth();
} catch (error) {
  if (!(error instanceof FaultsError)) throw error;
  // The fault is in the settings: a stack trace would only hide the list.
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

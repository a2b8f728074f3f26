import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { AdvertBridgeProps } from '../../infra/cdk.ts';
import { AdvertBridge } from '../../infra/cdk.ts';
import type { Resource } from './synthesized.ts';

export const partnerBaseUrl = 'https://partner.example';
export const env = { account: '111122223333', region: 'eu-central-1' };

/** Another team's app: without the context of our cdk.json, and without bundling, which `npm run synth` covers. */
export const bareApp = (): App =>
  new App({ analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });

/** One bridge in a stack of another team. */
export function bridgeWith(props: (stack: Stack) => Partial<AdvertBridgeProps> = () => ({})) {
  const app = bareApp();
  const stack = new Stack(app, 'Shop');
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, ...props(stack) });
  return { app, stack, bridge, ...templateOf(stack) };
}

export function templateOf(stack: Stack) {
  const template = Template.fromStack(stack).toJSON();
  const resources = template.Resources as Readonly<Record<string, Resource>>;
  const ofType = (type: string): Resource[] => Object.values(resources).filter(({ Type }) => Type === type);
  return { template, resources, ofType };
}

/** What `make` is refused for; empty when it is not. */
export function faultsOf(make: () => unknown): readonly string[] {
  try {
    make();
    return [];
  } catch (error) {
    const { faults } = error as { readonly faults?: readonly string[] };
    if (faults) return faults;
    throw error;
  }
}

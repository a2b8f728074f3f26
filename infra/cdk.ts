/** `advert-bridge/cdk`: what another team's CDK app takes from here. */
export * from './constructs/subscription/index.ts';

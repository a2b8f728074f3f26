/** `advert-bridge/cdk`: constructs for other teams' CDK apps: a whole bridge, and a subscription to one. */
export { AdvertBridge, type SubscribeProps } from './advert-bridge.ts';
export type { AdvertBridgeProps, ReservedConcurrency } from './constructs/props/advert-bridge-props.ts';
export { AdvertBridgeError } from './constructs/props/bridge-config.ts';
export type { AdvertBridgeSettings } from './constructs/props/settings.generated.ts';
export * from './constructs/subscription/index.ts';

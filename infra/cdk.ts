/** `advert-bridge/cdk`: what another team's CDK app takes from here. Nothing of the bridge's own stack comes with it. */
export { AdvertSubscription } from './constructs/advert-subscription.ts';
export type { AdvertFilter, DetailType } from './constructs/subscription-pattern.ts';
export {
  type AdvertSubscriptionProps,
  SubscriptionError,
  type SubscriptionTarget,
} from './constructs/subscription-props.ts';

/** `advert-bridge/cdk`: what another team's CDK app takes from here. Nothing of the bridge's own stack comes with it. */
export { AdvertSubscription } from './constructs/subscription/advert-subscription.ts';
export type { AdvertFilter, DetailType } from './constructs/subscription/subscription-pattern.ts';
export {
  type AdvertSubscriptionProps,
  SubscriptionError,
  type SubscriptionTarget,
} from './constructs/subscription/subscription-props.ts';

/** `advert-bridge-kit/cdk`: what another team's CDK app takes to subscribe. Nothing of the bridge itself comes with it. */
export { AdvertSubscription } from './advert-subscription.ts';
export type { AdvertFilter, DetailType } from './subscription-pattern.ts';
export {
  type AdvertSubscriptionProps,
  SubscriptionError,
  type SubscriptionTarget,
} from './subscription-props.ts';

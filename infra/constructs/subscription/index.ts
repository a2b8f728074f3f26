/**
 * `advert-bridge-kit/cdk`: the construct with which other teams' CDK apps subscribe. It does not include the bridge
 * itself.
 */
export { AdvertSubscription } from './advert-subscription.ts';
export type { AdvertFilter, DetailType } from './subscription-pattern.ts';
export {
  type AdvertSubscriptionProps,
  SubscriptionError,
  type SubscriptionTarget,
} from './subscription-props.ts';

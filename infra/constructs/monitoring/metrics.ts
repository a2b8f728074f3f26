import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { type FeedName, feeds } from '../../../shared/contract/feeds.ts';
import { type MetricName, metrics, metricsNamespace } from '../../../shared/contract/names.ts';

/** What alarms and the dashboard look at. */
export const period = Duration.minutes(5);

/** As shared/runtime/observer.ts writes it: the `service` is the same for all functions of a bridge, and a feed beside adverts is named. */
export const bridgeMetric = (
  { namePrefix }: { readonly namePrefix: string },
  metricName: MetricName,
  statistic: string,
  dimensions: { readonly feed?: string } = {},
): Metric =>
  new Metric({
    namespace: metricsNamespace,
    metricName,
    dimensionsMap: { service: namePrefix, ...dimensions },
    statistic,
    period,
  });

/** How far behind the feed is that is furthest behind, of all partner accounts; that of adverts has no dimension of its own. */
export const lagOf = (bridge: { readonly namePrefix: string }, feed: FeedName): Metric =>
  bridgeMetric(bridge, metrics.feedLagSeconds, Stats.MAXIMUM, feeds[feed].isOptional ? { feed } : {});

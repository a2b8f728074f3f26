import * as v from 'valibot';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import { flag, number, type OptionSpec, option, optionalNumber, settingOptions } from '../shared/options.ts';
import { eventBusArn, webhookUrl } from './webhooks.ts';

const several = <const S extends v.GenericSchema>(spec: OptionSpec<S>) => ({
  ...spec,
  schema: v.optional(v.array(spec.schema), []),
});

/** The settings of an embedded bridge, then the options of `run` alone. */
export const runOptions = {
  ...settingOptions(bridgeSettings),
  concurrency: number('adverts fetched at the same time, 1–1000', 1, 1000, 10),
  advertTries: number('how often an advert is tried before its change is dead-lettered', 1, 100, 5),
  webhook: several(option('URL', 'send each event there, signed, instead of to standard output', webhookUrl)),
  webhookFile: several(option('FILE', 'the same, with the URL in FILE, as it may be a secret', v.string())),
  eventBus: several(option('ARN', 'publish each event on this bus of EventBridge', eventBusArn)),
  webhookRetentionHours: number('how long events wait for one', 1, 24 * 90, 72),
  webhookMaxEvents: number('most events kept for one', 1_000, 100_000_000, 1_000_000),
  stdout: flag('events on standard output as well'),
  untilIdle: flag('end when every feed is up to date and the queue is empty'),
  dryRun: flag('only show the events: store and send nothing'),
  verbose: flag('log what is done, not only what goes wrong'),
  jsonLogs: flag('log as JSON lines'),
  metrics: {
    ...optionalNumber('loopback port of Prometheus text and health', 0, 65_535),
    value: 'PORT',
  },
};

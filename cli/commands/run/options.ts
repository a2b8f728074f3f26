import * as v from 'valibot';
import { bridgeSettings, isLoopback } from '../../../shared/contract/settings.ts';
import { flag, number, option } from '../../shared/options.ts';

/** A webhook's URL, in the normal form of the URL standard, so that each webhook has only one name. */
export const webhookUrl = v.pipe(
  v.string('expected the https URL that takes the events'),
  v.check(isWebhook, 'expected an https URL without credentials in it (plain http only for loopback)'),
  v.transform((text) => new URL(text).href),
);

function isWebhook(text: string): boolean {
  const parsed = URL.parse(text);
  if (!parsed || parsed.username || parsed.password) return false;
  return parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isLoopback(parsed.hostname));
}

const settings = bridgeSettings;

/** The settings of an embedded bridge, then the options of `run` alone. */
export const runOptions = {
  pollSeconds: option('N', 'seconds between two polls of a feed, 1–60', settings.pollSeconds),
  maxRequestsPerSecond: option('N', 'rate limit of the whole bridge', settings.maxRequestsPerSecond),
  requiredScope: option('SCOPES', 'scope that a token must have', settings.requiredScope),
  acceptLanguage: option('LANGUAGE', 'language of the partner service, such as pl', settings.acceptLanguage),
  overlapSeconds: option(
    'N',
    'seconds before the last success at which reading starts over after a rejected cursor',
    settings.overlapSeconds,
  ),
  confirmUnavailableSeconds: option(
    'N',
    'seconds after a "not found" until a second fetch, before an advert is published as unavailable; 0: no second fetch',
    settings.confirmUnavailableSeconds,
  ),
  circuitSeconds: option(
    'N',
    'seconds without requests after the service has blocked this address, until one request tries again',
    settings.circuitSeconds,
  ),
  maxPauseSeconds: option(
    'N',
    'the longest pause that the partner service can ask for',
    settings.maxPauseSeconds,
  ),
  eventFields: option(
    'PATHS',
    'fields of an advert that its events contain, such as title,price.value',
    settings.eventFields,
  ),
  publishStatuses: option(
    'STATUSES',
    'publish only if an advert enters or leaves one of these statuses',
    settings.publishStatuses,
  ),
  publishPartnerAccounts: option(
    'NAMES',
    'publish events about adverts only for these partner accounts',
    settings.publishPartnerAccounts,
  ),
  auditSample: option(
    'N',
    'how many adverts of each partner account are compared with the service a day; 0: none',
    settings.auditSample,
  ),
  concurrency: number('adverts fetched at the same time, 1–1000', 1, 1000, 10),
  advertTries: number('how often an advert is tried before its change is dead-lettered', 1, 100, 5),
  webhook: {
    ...option(
      'URL',
      'send each event to this URL by signed POST, instead of to standard output; may be given several times',
      v.optional(v.array(webhookUrl), []),
    ),
    repeatable: true,
  },
  webhookRetentionHours: number('how long events wait for a webhook that is down', 1, 24 * 90, 72),
  stdout: flag('with --webhook: write the events to standard output as well'),
  untilIdle: flag('end when every feed is up to date and the queue is empty'),
  dryRun: flag(
    'write the events to standard output, store only refreshed tokens, and send nothing to webhooks',
  ),
  verbose: flag('log on standard error what is done, not only what goes wrong'),
} satisfies Record<keyof typeof bridgeSettings, unknown> & Record<string, unknown>;

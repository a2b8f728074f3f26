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
  pollSeconds: option('N', 'how often the feed is asked, 1–60', settings.pollSeconds),
  maxRequestsPerSecond: option('N', 'rate limit of the whole bridge', settings.maxRequestsPerSecond),
  feeds: option('FEEDS', 'which feeds are polled: adverts, or adverts,orders (assumed)', settings.feeds),
  requiredScope: option('SCOPES', 'what a token must be granted', settings.requiredScope),
  acceptLanguage: option('LANGUAGE', 'language of the partner service, such as pl', settings.acceptLanguage),
  overlapSeconds: option(
    'N',
    'how far before the last success reading starts over when a cursor is rejected',
    settings.overlapSeconds,
  ),
  confirmUnavailableSeconds: option(
    'N',
    'how long after a "not found" an advert is fetched again before it is published as unavailable; 0: at once',
    settings.confirmUnavailableSeconds,
  ),
  circuitSeconds: option(
    'N',
    'how long a block of this address is respected before one request tries again',
    settings.circuitSeconds,
  ),
  maxPauseSeconds: option(
    'N',
    'the longest pause that the partner service can ask for',
    settings.maxPauseSeconds,
  ),
  eventFields: option(
    'PATHS',
    'fields of an advert that its events carry, such as title,price.value',
    settings.eventFields,
  ),
  publishStatuses: option(
    'STATUSES',
    'publish only where an advert comes to one of these statuses or leaves one',
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
  tracing: flag('have events carry a traceparent (W3C Trace Context)'),
  concurrency: number('adverts fetched at the same time, 1–1000', 1, 1000, 10),
  advertTries: number('how often an advert is tried before its change is dead-lettered', 1, 100, 5),
  webhook: {
    ...option(
      'URL',
      'send each event there by POST, signed, instead of to standard output; may be given several times',
      v.optional(v.array(webhookUrl), []),
    ),
    repeatable: true,
  },
  webhookRetentionHours: number('how long events wait for a webhook that is down', 1, 24 * 90, 72),
  stdout: flag('with --webhook: write the events to standard output as well'),
  untilIdle: flag('end when every feed is up to date and the queue is empty'),
  dryRun: flag(
    'write the events to standard output, store nothing but a refreshed token, send nothing anywhere',
  ),
  verbose: flag('say on standard error what is done, not just what goes wrong'),
} satisfies Record<keyof typeof bridgeSettings, unknown> & Record<string, unknown>;

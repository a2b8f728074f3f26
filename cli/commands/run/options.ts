import type { Command } from 'commander';
import * as v from 'valibot';
import { bridgeSettings, isLoopback } from '../../../shared/contract/settings.ts';
import { checkedOptions, optionOf, wholeOption } from '../../shared/check-options.ts';

/** How each setting is shown by `run --help`; a setting that is not here does not compile. */
const settingHelp: Record<keyof typeof bridgeSettings, readonly [value: string, help: string]> = {
  pollSeconds: ['N', 'how often the feed is asked, 1–60'],
  maxRequestsPerSecond: ['N', 'the rate budget of the whole bridge'],
  requiredScope: ['SCOPES', 'what a token must be granted'],
  acceptLanguage: ['LANGUAGE', 'language of the partner service, such as pl'],
  overlapSeconds: ['N', 'how far before the last success reading starts over when a cursor is rejected'],
  confirmUnavailableSeconds: [
    'N',
    'after how long a missing advert is looked at again before it is told; 0: at once',
  ],
  circuitSeconds: ['N', 'how long a block of this address is respected before one request tries again'],
  maxPauseSeconds: ['N', 'the longest pause that the partner service can ask for'],
};

/** Where events may be sent; as it is written by the URL standard, so that one webhook has one name. */
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

const entries = {
  ...bridgeSettings,
  concurrency: v.optional(wholeOption(1, 1000), '10'),
  advertTries: v.optional(wholeOption(1, 100), '5'),
  webhook: v.optional(v.array(webhookUrl), []),
  webhookRetentionHours: v.optional(wholeOption(1, 24 * 90), '72'),
};

/** Adds the options of `run`, each with its default. */
export function withRunOptions(command: Command): Command {
  for (const [name, [value, help]] of Object.entries(settingHelp)) {
    const entry = bridgeSettings[name as keyof typeof bridgeSettings] as { readonly default?: unknown };
    const fallback = entry.default === undefined ? '' : ` (default: ${entry.default})`;
    command.option(`${optionOf(name)} <${value}>`, `${help}${fallback}`);
  }
  return command
    .option('--concurrency <N>', 'adverts fetched side by side, 1–1000 (default: 10)')
    .option('--advert-tries <N>', 'tries of an advert before its change is dead-lettered (default: 5)')
    .option(
      '--webhook <URL>',
      'send each event there by POST, signed, instead of to standard output; may be given several times',
      (url: string, others: string[] = []) => [...others, url],
    )
    .option('--webhook-retention-hours <N>', 'how long events wait for a webhook that is down (default: 72)')
    .option('--stdout', 'with --webhook: write the events to standard output as well')
    .option('--until-idle', 'end when every feed is up to date and the queue is empty');
}

/** @throws {UsageError} with all that is wrong */
export function checkedRunOptions(given: Readonly<Record<string, unknown>>) {
  const { concurrency, advertTries, webhook, webhookRetentionHours, ...settings } = checkedOptions(entries, {
    ...given,
  });
  return { concurrency, advertTries, webhooks: [...new Set(webhook)], webhookRetentionHours, settings };
}

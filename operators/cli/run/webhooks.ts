import * as v from 'valibot';
import { shownUrl } from '../../../embedded/state/event-log.ts';
import type { Webhooks } from '../../../embedded/state/webhooks.ts';
import { isPrivateUrl } from '../../../shared/contract/settings.ts';
import { failed, UsageError } from '../../operations/errors.ts';
import type { Io } from '../shared/io.ts';
import { checkedOptions } from '../shared/options.ts';
import { readSecret } from '../shared/secret-input.ts';
import type { Target } from '../shared/target.ts';

/** A webhook's URL, in the normal form of the URL standard, so that each webhook has only one name. */
export const webhookUrl = v.pipe(
  v.string('expected the https URL that takes the events'),
  v.check(isPrivateUrl, 'expected an https URL without credentials in it (plain http only for loopback)'),
  v.transform((text) => new URL(text).href),
);

/** The ARN of an event bus, of either kind. */
export const eventBusArn = v.pipe(
  v.string('expected the ARN of an event bus'),
  v.check(
    (text) => text.startsWith('arn:'),
    'expected the ARN of an event bus, arn:aws:events:REGION:ACCOUNT:event-bus/NAME',
  ),
  v.check(
    (text) => /^arn:[^:]*:events:/.test(text),
    'expected the ARN of an event bus: this one is of another service',
  ),
  v.check(
    (text) => !text.includes(':event-busv2/') || /\/[a-z0-9]{25}$/.test(text),
    'expected the whole ARN: that of a custom event bus ends with its ID, 25 letters and digits: …:event-busv2/NAME/ID',
  ),
  v.regex(
    /^arn:aws[a-z-]*:events:[a-z]+(-[a-z0-9]+)+:\d{12}:(event-bus\/[\w./-]{1,256}|event-busv2\/[A-Za-z0-9][\w.-]{0,255}\/[a-z0-9]{25})$/,
    'expected arn:aws:events:REGION:ACCOUNT:event-bus/NAME, or …:event-busv2/NAME/ID',
  ),
  v.check(
    (arn) => partitionIn(arn) === rightPartition(arn),
    ({ input }) =>
      `expected the partition ${rightPartition(input)} for this region, not ${partitionIn(input)}: arn:${rightPartition(input)}:events:…`,
  ),
);

const partitionIn = (arn: string) => arn.split(':')[1];
/** Of a region whose name begins so. @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html */
const partitions: readonly (readonly [beginning: string, partition: string])[] = [
  ['cn-', 'aws-cn'],
  ['us-gov-', 'aws-us-gov'],
  ['us-iso-', 'aws-iso'],
  ['us-isob-', 'aws-iso-b'],
  ['eu-isoe-', 'aws-iso-e'],
  ['us-isof-', 'aws-iso-f'],
  ['eusc-', 'aws-eusc'],
];
const rightPartition = (arn: string) =>
  partitions.find(([beginning]) => arn.split(':')[3]?.startsWith(beginning))?.[1] ?? 'aws';

/** @returns the URL in the file, which may be a secret */
export async function webhookIn(io: Io, file: string): Promise<string> {
  const source = { what: 'webhook URL', option: '--webhook', fromStdin: false, file };
  const webhookFile = (await readSecret(io, source)).reveal();
  return checkedOptions({ webhookFile: { schema: webhookUrl } }, { webhookFile }).webhookFile;
}

/** The one webhook that a command is about, given as a URL or in a file; undefined if none is given. */
export async function webhookFrom(
  io: Io,
  { url, file }: { readonly url: string | undefined; readonly file: string | undefined },
): Promise<string | undefined> {
  if (url !== undefined && file !== undefined)
    throw new UsageError('give the webhook once: its URL, or --webhook-file');
  return file === undefined ? url : webhookIn(io, file);
}

/** @throws {CommandError} for a webhook without a secret: the receiver could not verify its events */
export function requireSecrets(
  webhooks: Pick<Webhooks, 'signing'>,
  urls: readonly string[],
  target: Target,
): void {
  const missing = urls.find((url) => !webhooks.signing(url));
  if (missing === undefined) return;
  const command = webhookCommand(target, 'webhook URL --secret-stdin');
  throw failed('no-webhook-secret', { webhook: shownUrl(missing), command });
}

/** A URL may be a secret, so it cannot be copied from the hint. @param words with `URL` in its place */
export const webhookCommand = (target: Target, words: string): string =>
  `\`${target.command(words)}\`, with the whole URL in quotes (it may be a secret, and is not shown)`;

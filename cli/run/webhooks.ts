import { CommandError, UsageError } from '../../operations/errors.ts';
import { shownUrl } from '../../shared/domain/text.ts';
import type { Webhooks } from '../../shared/sqlite/webhooks.ts';
import type { Io } from '../shared/io.ts';
import { checkedOptions } from '../shared/options.ts';
import { readSecret } from '../shared/secret-input.ts';
import type { Target } from '../shared/target.ts';
import { webhookCommand } from '../shared/target.ts';
import { webhookUrl } from './options.ts';

/** @returns the URL in the file, whose query may be a secret */
export async function webhookIn(io: Io, file: string): Promise<string> {
  const source = { what: 'webhook URL', option: '--webhook', fromStdin: false, file };
  const webhookFile = (await readSecret(io, source)).reveal();
  return checkedOptions({ webhookFile: { schema: webhookUrl } }, { webhookFile }).webhookFile;
}

/** The one webhook that a command is about, given as a URL or in a file; undefined if none is given. */
export function webhookFrom(
  io: Io,
  given: { readonly url: string | undefined; readonly file: string | undefined },
): Promise<string> | string | undefined {
  const { url, file } = given;
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
  if (missing !== undefined) throw new CommandError(noSecretText(target, missing));
}

export const noSecretText = (target: Target, url: string): string =>
  `no secret is stored for webhook ${shownUrl(url)}, and every event is signed. Make a secret, store it, and give it to the ` +
  `subscriber: ${webhookCommand(target, url, (shown) => `webhook ${shown} --secret-stdin`)}`;

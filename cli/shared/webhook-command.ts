import { shownUrl } from '../../embedded/webhooks/delivery.ts';
import { commandFor, type Target } from './target.ts';

/**
 * A command with a webhook in it, for a hint. The query of a URL may be a secret and is not shown: then the hint says so, for the
 * command cannot be copied as it is.
 *
 * @param command makes the arguments from what stands for the URL
 */
export function webhookCommand(target: Target, url: string, command: (url: string) => string): string {
  if (new URL(url).search === '') return `\`${commandFor(target, command(shownUrl(url)))}\``;
  return `\`${commandFor(target, command('URL'))}\`, with the whole URL in quotes (its query may be a secret, and is not shown)`;
}

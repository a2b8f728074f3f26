import { shownUrl } from '../../shared/domain/text.ts';
import { commandFor, type Target } from './target.ts';

/**
 * A command with a webhook's URL, for a hint. The query of a URL may be a secret and is not shown. The hint then says
 * so, because the command cannot be copied unchanged.
 *
 * @param command creates the arguments from the URL or its placeholder
 */
export function webhookCommand(target: Target, url: string, command: (url: string) => string): string {
  if (new URL(url).search === '') return `\`${commandFor(target, command(shownUrl(url)))}\``;
  return `\`${commandFor(target, command('URL'))}\`, with the whole URL in quotes (its query may be a secret, and is not shown)`;
}

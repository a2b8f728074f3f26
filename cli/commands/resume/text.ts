import type { Resumed } from '../../../operations/pause.ts';
import { commandFor, type Target } from '../../shared/target.ts';

export const more = `What waited is put back into the queue by the next run of the drain, within a minute. Resuming the whole bridge leaves the
pauses of single partner accounts as they are, and the other way round (exit code 3 where the whole bridge is still paused).

--early ends also what the bridge waits for by itself: a pause that the service asked for (Retry-After), an open circuit, and
with NAME the pause of a partner account whose new token was rejected again. Do that when you know that the service is ready;
if it is not, it asks for the next pause.

Examples:
  advert-bridge resume main --local .advert-bridge
  advert-bridge resume --early   (the deployed stack)`;

export function resumedLines(
  target: Target,
  name: string | undefined,
  { ended, servicePauseUntil, circuitEnded, stillPaused }: Resumed,
): string[] {
  const what = name ?? 'The whole bridge';
  return [
    ended
      ? `${what} is resumed: ${ended.who} had paused it at ${ended.since}${ended.reason === null ? '' : ` (${ended.reason})`}.`
      : `${what} was not paused by anybody.`,
    ...(circuitEnded ? ['The circuit is closed.'] : []),
    ...(servicePauseUntil && !circuitEnded
      ? [`Ended the pause that the service had asked for until ${servicePauseUntil}.`]
      : []),
    ...(stillPaused
      ? [
          `The whole bridge is still paused, by ${stillPaused.who} since ${stillPaused.since}. ` +
            `To end that: \`${commandFor(target, 'resume')}\``,
        ]
      : []),
  ];
}

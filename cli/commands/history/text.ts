import type { AdvertHistory } from '../../../operations/history/read-history.ts';
import { printableLine as printable } from '../../../shared/domain/text/printable.ts';
import { commandFor, type Target } from '../../shared/target.ts';

export const more = `Begin here when an event did not come. \`latest\` is the latest event that was recorded, whole; the page that named an advert is
told by its correlation ID, which stands in the event and in the log lines. A dead letter that was dropped leaves no trace but
the advert's history.

Examples:
  advert-bridge history main 123 --local .advert-bridge
  advert-bridge history main 123 --json   (the deployed stack)`;

/** The known facts about the advert, then the answer. */
export function historyText(history: AdvertHistory): string {
  const { partnerAccount, advertId, latest, waiting, deadLetters, log = [], answer } = history;
  const lines = [`advert ${advertId} of partner account ${partnerAccount}`];
  const tell = (what: string, text: string) => lines.push(`  ${`${what}:`.padEnd(10)} ${text}`);
  if (latest) {
    const { metadata } = latest.detail;
    tell('listed', `${metadata.listedAt} by page ${printable(metadata.correlationId)} (${metadata.cause})`);
    tell('event', `${metadata.eventId}, observed at ${metadata.observedAt}, ${publishedText(history)}`);
    lines.push(`             ${JSON.stringify(latest)}`);
  }
  for (const { place, listedAt, correlationId, cause, receives, until } of waiting) {
    const where = place === 'queue' ? 'in the queue' : 'aside, outside the queue';
    const putOff = until === null ? '' : `, put off until ${until}`;
    const page = `listed at ${listedAt} by page ${printable(correlationId)} (${cause})`;
    tell('waits', `${where}, ${page}, delivered ${receives} times${putOff}`);
  }
  for (const { id, at, fault, reason, message } of deadLetters) {
    const listed = message
      ? `, listed at ${message.listedAt} by page ${printable(message.correlationId)}`
      : '';
    tell('given up', `dead letter ${id} at ${at}: ${printable(fault)}: ${printable(reason)}${listed}`);
  }
  for (const { at, from, message, correlationId, became, fault, reason } of log) {
    const what = [message, became, fault, reason].filter((part) => part !== undefined).map(printable);
    tell('log', `${at} ${from}: ${what.join(': ')} (page ${printable(correlationId)})`);
  }
  return [...lines, answer].join('\n');
}

function publishedText({ latestPublished }: AdvertHistory): string {
  if (latestPublished === null) return 'recorded; the bus may not have accepted it';
  return latestPublished ? 'published' : 'kept off the bus by a setting';
}

/** The command to run next, if there is one. */
export function nextText({ outcome, deadLetters }: AdvertHistory, target: Target): string | undefined {
  const newest = deadLetters.at(-1);
  if (outcome !== 'dead-lettered' || !newest) return undefined;
  return `When the cause is fixed: \`${commandFor(target, `dead-letters redrive ${newest.id}`)}\``;
}

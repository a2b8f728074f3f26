/** Shortens a line of the trace for people: no repeated fields, and times as seconds since the start of the run. */
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { epochMs } from './scheduler.ts';

const maxCharacters = 200;
/** Fields without information in a world of one feed. */
const noise = /"(?:generation|feed|listedAt|correlationId|cause|receivedAt|connectedAt)":(?:"[^"]*"|\d+),?/g;

export function plainLine(line: string): string {
  const text = withoutEnvelopes(line)
    .replaceAll(noise, '')
    .replaceAll(/"0{9,}(\d+):0*(\d+)"/g, '"message $1, delivery $2"')
    .replaceAll(/\b\d{13}(?:\.\d+)?\b/g, (ms) => `${((Number(ms) - epochMs) / 1000).toFixed(3)}s`)
    .replaceAll(/,(?=[}\]])/g, '');
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/** Shows an event as `event 2 of main/11: new after active`. */
function withoutEnvelopes(line: string): string {
  const begin = line.indexOf('events.publish ["');
  if (begin < 0) return line;
  const from = begin + 'events.publish '.length;
  const to = line.lastIndexOf('"]') + 2;
  try {
    const [envelope] = JSON.parse(line.slice(from, to)) as [string];
    const { metadata, data } = (JSON.parse(envelope) as AdvertEvent).detail;
    const { advertId, status, previousStatus } = data;
    const said =
      advertId === undefined
        ? `authorization of ${metadata.partnerAccount}`
        : `event ${metadata.sequence} of ${metadata.partnerAccount}/${advertId}: ${status ?? 'unknown'} after ${previousStatus ?? 'nothing'}`;
    return `${line.slice(0, from)}${said}${line.slice(to)}`;
  } catch {
    return line;
  }
}

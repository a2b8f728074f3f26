import { Writable } from 'node:stream';
import type { Envelope } from '../../../shared/contract/events.ts';
import { printableLine } from '../../../shared/domain/text.ts';
import type { Io } from './io.ts';

/** Standard output for events: JSON lines, or on a terminal a line for people each, unless `json` is set. */
export function eventOutput(io: Io, json: boolean): Io {
  if (json || io.stdout.isTTY !== true) return io;
  const stdout = new Writable({
    decodeStrings: false,
    write(lines: string, _encoding, done) {
      io.stdout.write(`${lines.trim().split('\n').map(lineForPeople).join('\n')}\n`, done);
    },
  });
  return { ...io, stdout: Object.assign(stdout, { isTTY: true }) };
}

/** Such as `12:00:01  main  advert 123  new → active`, in this machine's time zone. */
function lineForPeople(envelope: string): string {
  const { 'detail-type': type, time, detail } = JSON.parse(envelope) as Envelope;
  const { metadata, data } = detail;
  const start = `${new Date(time).toTimeString().slice(0, 8)}  ${metadata.partnerAccount}`;
  if (!('advertId' in data)) return printableLine(`${start}  ${type}  ${data.reason}`);
  const cause = 'cause' in metadata && metadata.cause !== 'feed' ? `  (${metadata.cause})` : '';
  const change = `${data.previousStatus ?? 'none'} → ${data.status ?? 'unavailable'}`;
  return printableLine(`${start}  advert ${data.advertId}  ${change}${cause}`);
}

/** Finds messages in a queue that cannot be inspected (SQS shows a message only to a receiver). */
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { type HistoryOwner, objectKeyOf } from '../../shared/domain/history-key.ts';
import { type LogLine, lastOfEach, type ReadLog, readAdvertLog } from './advert-log.ts';
import type { Waiting } from './answer.ts';

export interface HiddenQueue {
  /** Approximate number of messages in the queue, of all adverts. */
  readonly length: () => Promise<number>;
  readonly readLog: ReadLog;
}

/** Fan-out dead-letters messages that are older. */
const dayMs = 86_400_000;
/** The retention of the functions' logs. */
const logsKeptMs = 31 * dayMs;
/** How far the functions' clocks may be behind the service's clock, which dates a page. */
const skewMs = 60_000;

/** What the logs and the length of the queue say about messages in a queue that cannot be inspected. */
export async function lookBehind(
  hiddenQueue: HiddenQueue | undefined,
  owner: Pick<HistoryOwner, 'partnerAccount' | 'feed' | 'advertId'>,
  found: {
    readonly latest: AdvertEvent | undefined;
    /** Generation of the partner account, s since 1970: earlier listings belong to a history that has ended. */
    readonly generation: number;
    /** Messages that are known to be elsewhere. */
    readonly placed: readonly { readonly correlationId: string }[];
    readonly nowMs: number;
  },
) {
  if (!hiddenQueue) return undefined;
  const { latest, generation, placed, nowMs } = found;
  const elsewhere = new Set(placed.map(({ correlationId }) => correlationId));
  const metadata = latest?.detail.metadata;
  const listedMs = metadata ? Date.parse(metadata.listedAt) - skewMs : nowMs;
  const fromMs = Math.max(nowMs - logsKeptMs, Math.min(nowMs - dayMs, listedMs));
  const pages = [...(metadata ? [metadata.correlationId] : []), ...elsewhere];
  const [length, log] = await Promise.all([
    hiddenQueue.length(),
    readAdvertLog(hiddenQueue.readLog, { ...owner, advertId: objectKeyOf(owner) }, { pages, fromMs }),
  ]);
  const lastLogged = lastOfEach(log);
  const goesOn = [...lastLogged.values()].filter(
    ({ became, correlationId }) => became === 'retry' && !elsewhere.has(correlationId),
  );
  const waiting = length === 0 ? [] : goesOn.map((line) => loggedWaiting(line, log, owner.advertId));
  /**
   * The page's log line names the generation. A page that the queue did not accept completely has no such line: then its
   * time decides.
   */
  const isOfGeneration = ({ correlationId, listedAt }: Waiting) => {
    const page = log.find((line) => line.correlationId === correlationId && line.generation !== undefined);
    return page ? page.generation === generation : Date.parse(listedAt) >= generation * 1000;
  };
  return { length, log, lastLogged, waiting: waiting.filter(isOfGeneration) };
}

/** A message that was sent back to the queue, as far as the log shows it. */
function loggedWaiting(
  { correlationId, receives = 1 }: LogLine,
  log: readonly LogLine[],
  advertId: string,
): Waiting {
  // The time of the drain's line about the page, or else of the first log line about the message.
  const listedAt = log.find((line) => line.correlationId === correlationId)?.at ?? '';
  const key = `${correlationId}:${advertId}`;
  return { place: 'queue', key, listedAt, cause: null, correlationId, receives, until: null };
}

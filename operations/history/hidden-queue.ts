/** What can be said of messages in a queue that nobody can look at (SQS shows one only to who receives it). */
import { type HistoryOwner, objectKeyOf } from '../../shared/domain/history-key.ts';
import { type LogLine, lastOfEach, type ReadLog, readAdvertLog } from './advert-log.ts';
import type { ObjectEvent, Waiting } from './answer.ts';

export interface HiddenQueue {
  /** About how many messages it holds, of all adverts. */
  readonly length: () => Promise<number>;
  readonly readLog: ReadLog;
}

/** Fan-out gives up what has been in the queue for longer, and notes then that its event is owed. */
export const dayMs = 86_400_000;
/** As long as the functions' logs are kept. */
const logsKeptMs = 31 * dayMs;
/** Before the moment of a page by the service's clock: the functions' own may differ. */
const skewMs = 60_000;

/** What the log and the queue's length tell of messages that nobody can look at. */
export async function lookBehind(
  hiddenQueue: HiddenQueue | undefined,
  owner: Pick<HistoryOwner, 'partnerAccount' | 'feed' | 'advertId'>,
  found: {
    readonly latest: ObjectEvent | undefined;
    /** Of the partner account, s since 1970: what was listed before belongs to a history that is over. */
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
  /** By the line of its page. A page of which the queue did not accept everything has none: then by its time. */
  const isOfGeneration = ({ correlationId, listedAt }: Waiting) => {
    const page = log.find((line) => line.correlationId === correlationId && line.generation !== undefined);
    return page ? page.generation === generation : Date.parse(listedAt) >= generation * 1000;
  };
  return { length, log, lastLogged, waiting: waiting.filter(isOfGeneration) };
}

/** A message that was sent back to the queue, as far as the log tells of it. */
function loggedWaiting(
  { correlationId, receives = 1 }: LogLine,
  log: readonly LogLine[],
  advertId: string,
): Waiting {
  // The drain's own line about the page, or else the first that is logged of the message.
  const listedAt = log.find((line) => line.correlationId === correlationId)?.at ?? '';
  const key = `${correlationId}:${advertId}`;
  return { place: 'queue', key, listedAt, cause: null, correlationId, receives, until: null };
}

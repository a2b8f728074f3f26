/**
 * What the functions' logs say about one advert: the lines that name it, and those about the pages that listed it.
 */
import { toInstant } from '../../shared/domain/clock.ts';

/** A line as a function logged it. */
export interface RawLine {
  /** Ms since 1970. */
  readonly atMs: number;
  readonly from: 'drain' | 'fan-out';
  readonly text: string;
}

/** Reads log lines since `fromMs` (ms since 1970) that contain one of the words in quotes. */
export type ReadLog = (search: {
  readonly words: readonly string[];
  readonly fromMs: number;
}) => Promise<readonly RawLine[]>;

export interface LogLine {
  readonly at: string;
  readonly from: RawLine['from'];
  readonly level: string;
  readonly message: string;
  /** Identifies the page that listed the advert. */
  readonly correlationId: string;
  /** Generation of the partner account when the page was read; only in the line about the whole page. */
  readonly generation?: number;
  /** Result of the message: an outcome, `retry`, `hold`, `dead-letter` or `forgotten`. */
  readonly became?: string;
  /** How often the message had been delivered. */
  readonly receives?: number;
  readonly fault?: string;
  readonly reason?: string;
}

interface Advert {
  readonly partnerAccount: string;
  /** Key of the object in the log, unique across all feeds: `objectKeyOf` (shared/domain/history-key.ts). */
  readonly advertId: string;
}

/** Maximum number of pages to search for, the newest ones. */
const maxPages = 20;
const isPlain = (id: string): boolean => /^[\w-]{1,64}$/.test(id);

/**
 * @param pages correlation IDs that are already known
 * @returns oldest first
 */
export async function readAdvertLog(
  readLog: ReadLog,
  advert: Advert,
  { pages, fromMs }: { readonly pages: readonly string[]; readonly fromMs: number },
): Promise<LogLine[]> {
  const own = (await readLog({ words: [advert.advertId], fromMs })).flatMap((line) => linesOf(line, advert));
  const newestFirst = own
    .toSorted((a, b) => (a.at < b.at ? 1 : -1))
    .map(({ correlationId }) => correlationId);
  const named = [...new Set([...pages, ...newestFirst])].filter(isPlain);
  const words = named.slice(0, maxPages);
  const ofPages = words.length === 0 ? [] : await readLog({ words, fromMs });
  return [...own, ...ofPages.flatMap((line) => lineOfPage(line, advert))].sort((a, b) =>
    a.at < b.at ? -1 : 1,
  );
}

/** The last log line about each message, by the page that listed it. */
export const lastOfEach = (log: readonly LogLine[]): ReadonlyMap<string, LogLine> =>
  new Map(log.filter(({ became }) => became !== undefined).map((line) => [line.correlationId, line]));

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf({ text }: RawLine): Fields {
  try {
    const fields = JSON.parse(text);
    return typeof fields === 'object' && fields !== null ? fields : {};
  } catch {
    // Lambda's own lines, or a crash.
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const commonOf = ({ atMs, from }: RawLine, { level, message }: Fields) => ({
  ...{ at: toInstant(atMs), from },
  ...{ level: textOf(level), message: textOf(message) },
});

/** A line about the advert alone, or the advert's part in the line of a batch (functions/fan-out/batch-log.ts). */
function linesOf(line: RawLine, { partnerAccount, advertId }: Advert): LogLine[] {
  const fields = fieldsOf(line);
  const common = commonOf(line, fields);
  if (Array.isArray(fields.pages)) {
    return (fields.pages as Fields[])
      .filter((page) => page?.partnerAccount === partnerAccount)
      .flatMap(({ correlationId, adverts, redelivered }) =>
        Object.entries((adverts ?? {}) as Record<string, unknown[]>)
          .filter(([, ids]) => Array.isArray(ids) && ids.includes(advertId))
          .map(([became]) => {
            const receives = (redelivered as Record<string, number> | undefined)?.[advertId] ?? 1;
            return { ...common, correlationId: textOf(correlationId), became, receives };
          }),
      );
  }
  if (fields.advertId !== advertId || fields.partnerAccount !== partnerAccount) return [];
  const { correlationId, fault, reason } = fields;
  return [
    {
      ...common,
      correlationId: textOf(correlationId),
      ...(fault === undefined ? {} : { fault: textOf(fault) }),
      ...(reason === undefined ? {} : { reason: textOf(reason) }),
    },
  ];
}

/** The drain's line about a whole page. */
function lineOfPage(line: RawLine, { partnerAccount }: Advert): LogLine[] {
  const fields = fieldsOf(line);
  if (line.from !== 'drain' || fields.partnerAccount !== partnerAccount || fields.advertId !== undefined)
    return [];
  const { correlationId, generation } = fields;
  return [
    {
      ...commonOf(line, fields),
      correlationId: textOf(correlationId),
      ...(typeof generation === 'number' ? { generation } : {}),
    },
  ];
}

import { functionLogs } from '../emulator/logs.ts';

/** One advert's message, from a fan-out's log line about a batch that it has handled. */
export interface Handled {
  /** When the line was written, ms since 1970. */
  readonly at: number;
  readonly partnerAccount: string;
  readonly advertId: string;
  readonly correlationId: string;
  readonly receives: number;
  readonly verdict: string;
}

/** The part of the line about one page's messages. */
interface Page {
  readonly partnerAccount: string;
  readonly correlationId: string;
  /** Advert IDs by verdict. */
  readonly adverts: Readonly<Record<string, readonly string[]>>;
  readonly redelivered?: Readonly<Record<string, number>>;
}

/** All messages that the fan-outs logged as handled; the last batch of a killed one is missing. */
export async function handledMessages(endpoint: string): Promise<Handled[]> {
  const lines = [...(await functionLogs(endpoint)).values()].flat();
  return lines.flatMap((line): Handled[] => {
    if (!line.includes('"batch handled"')) return [];
    const { timestamp, pages } = JSON.parse(line) as { timestamp: string; pages: Page[] };
    return pages.flatMap(({ partnerAccount, correlationId, adverts, redelivered = {} }) =>
      Object.entries(adverts).flatMap(([verdict, ids]) =>
        ids.map((advertId) => ({
          ...{ partnerAccount, advertId, correlationId, verdict },
          at: Date.parse(timestamp),
          receives: redelivered[advertId] ?? 1,
        })),
      ),
    );
  });
}

/** Identifies a message: the page read that listed it, and the advert. */
export const keyOf = ({ correlationId, advertId }: Handled): string => `${correlationId}:${advertId}`;

/** Whether a message was received again and handled before the earlier worker had finished with it. */
export function overlapped(handled: readonly Handled[], since: number): boolean {
  const recent = handled.filter(({ at }) => at >= since);
  return recent.some((late) =>
    recent.some(
      (early) => keyOf(early) === keyOf(late) && early.receives > late.receives && early.at < late.at,
    ),
  );
}

import { functionLogs } from '../emulator/logs.ts';

/** One advert's message in a fan-out's line of a batch that it has handled. */
export interface Handled {
  /** When the line was written, ms since 1970. */
  readonly at: number;
  readonly partnerAccount: string;
  readonly advertId: string;
  readonly correlationId: string;
  readonly receives: number;
  readonly verdict: string;
}

/** What the line says of one page's messages. */
interface Page {
  readonly partnerAccount: string;
  readonly correlationId: string;
  /** Advert IDs by verdict. */
  readonly adverts: Readonly<Record<string, readonly string[]>>;
  readonly redelivered?: Readonly<Record<string, number>>;
}

/** What all fan-outs say that they have handled, the killed ones' last batch apart. */
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

/** What tells messages apart: the page read that named it, and the advert. */
export const keyOf = ({ correlationId, advertId }: Handled): string => `${correlationId}:${advertId}`;

/** Whether a message was received again and handled, before the worker that had it before was through with it. */
export function overlapped(handled: readonly Handled[], since: number): boolean {
  const recent = handled.filter(({ at }) => at >= since);
  return recent.some((late) =>
    recent.some(
      (early) => keyOf(early) === keyOf(late) && early.receives > late.receives && early.at < late.at,
    ),
  );
}

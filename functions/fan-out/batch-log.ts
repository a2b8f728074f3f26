import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import type { Settlement } from '../../shared/ports/deliveries.ts';

/** The results of one page's messages within a batch. */
interface PageLine {
  readonly partnerAccount?: string;
  readonly correlationId?: string;
  /** Advert IDs (or the keys of other objects), grouped by the result of their messages. */
  readonly adverts: Record<string, (string | undefined)[]>;
  /** Receive counts of redelivered messages, by advert ID. */
  readonly redelivered?: Record<string, number>;
}

/** Fields of a batch's log line. They make it possible to follow each message from its page of the feed to its event. */
export function pagesOf(settlements: readonly Settlement[]): PageLine[] {
  const pages = Map.groupBy(
    settlements,
    ({ delivery: { message } }) => `${message?.partnerAccount} ${message?.correlationId}`,
  );
  return [...pages.values()].map((page) => {
    const { partnerAccount, correlationId } = page[0]?.delivery.message ?? {};
    const adverts: PageLine['adverts'] = {};
    for (const { delivery, verdict } of page) {
      const became = verdict.kind === 'done' ? verdict.outcome : verdict.kind;
      adverts[became] = [...(adverts[became] ?? []), objectOf(delivery)];
    }
    const again = page.filter(({ delivery }) => delivery.receives > 1);
    const redelivered = again.map(({ delivery }) => [objectOf(delivery) ?? '', delivery.receives]);
    return {
      partnerAccount,
      correlationId,
      adverts,
      ...(again.length > 0 ? { redelivered: Object.fromEntries(redelivered) } : {}),
    };
  });
}

const objectOf = ({ message }: Settlement['delivery']): string | undefined => message && objectKeyOf(message);

import type { AdvertTruth } from '../../sandbox/control/control.ts';
import type { AdvertEvent } from '../../shared/contract/events.ts';

/** An event line as received, with the run that wrote it. */
export interface Line {
  readonly run: number;
  readonly text: string;
  readonly event: AdvertEvent;
}

/**
 * Compares what a subscriber knows after all runs with the service's real state.
 *
 * @param touched adverts that the feed has listed: exactly these must have events
 */
export function checkHistories(
  lines: readonly Line[],
  truth: readonly AdvertTruth[],
  touched: ReadonlySet<string>,
) {
  const byId = new Map<string, Line>();
  const faults: string[] = [];
  for (const line of lines) {
    const { eventId } = line.event.detail.metadata;
    const before = byId.get(eventId);
    if (before && before.text !== line.text) {
      faults.push(`${eventId} came with two contents:\n    ${before.text}\n    ${line.text}`);
    }
    if (!before) byId.set(eventId, line);
  }
  const byAdvert = Map.groupBy(byId.values(), ({ event }) => event.detail.data.advertId);
  for (const advert of truth) {
    const firsts = byAdvert.get(advert.id) ?? [];
    byAdvert.delete(advert.id);
    const wrong = flawsOf(firsts, advert, touched.has(advert.id));
    if (wrong.length > 0) faults.push(story(advert, firsts, wrong));
  }
  for (const id of byAdvert.keys())
    faults.push(`the service has no advert ${id}, yet there are events of it`);
  /** By partner account: how many different events. */
  const events = new Map<string, number>();
  for (const { event } of byId.values()) {
    const { partnerAccount } = event.detail.metadata;
    events.set(partnerAccount, (events.get(partnerAccount) ?? 0) + 1);
  }
  /** Lines that repeat an earlier one exactly. */
  const repeats = lines.length - byId.size;
  return { faults, events, distinct: byId.size, repeats };
}

/** @param firsts first occurrences of the advert's events, in order of arrival */
function flawsOf(firsts: readonly Line[], advert: AdvertTruth, isTouched: boolean): string[] {
  const flaws: string[] = [];
  if (!isTouched) return firsts.length > 0 ? ['the feed never named it'] : [];
  if (firsts.length === 0) return ['no event at all'];
  let previous: string | null = null;
  for (const [index, { event }] of firsts.entries()) {
    const { metadata, data } = event.detail;
    const { partnerAccount, generation, sequence, eventId } = metadata;
    if (sequence !== index + 1) flaws.push(`sequence ${sequence} came where ${index + 1} was due`);
    if (eventId !== `${partnerAccount}/${generation}/${advert.id}/${sequence}`) flaws.push(`ID ${eventId}`);
    if (partnerAccount !== advert.user) flaws.push(`${eventId} belongs to ${advert.user}`);
    if (data.previousStatus !== previous) flaws.push(`${eventId} follows ${previous}`);
    if (index > 0 && data.status === previous) flaws.push(`${eventId} tells no change`);
    previous = data.status;
  }
  if (previous !== advert.status) flaws.push(`the last event says ${previous}, the service ${advert.status}`);
  if (!isWithin(firsts, advert)) flaws.push('the statuses never followed one another like this');
  return flaws;
}

/** Whether the published statuses occurred in this order; statuses between two fetches may be missing. */
function isWithin(firsts: readonly Line[], { history }: AdvertTruth): boolean {
  let from = 0;
  return firsts.every(({ event }) => {
    const found = history.findIndex(
      ({ status }, index) => index >= from && status === event.detail.data.status,
    );
    from = found + 1;
    return found >= 0;
  });
}

function story(
  { id, user, history }: AdvertTruth,
  firsts: readonly Line[],
  flaws: readonly string[],
): string {
  const truth = history.map(({ status, atMs }) => `${new Date(atMs).toISOString().slice(11)} ${status}`);
  return [
    `advert ${id} of ${user}: ${flaws.join('; ')}`,
    `  truth: ${truth.join(', ')}`,
    ...firsts.map(({ run, text }) => `  run ${run}: ${text}`),
  ].join('\n');
}

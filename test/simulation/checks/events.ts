/** Checks `one-history` and `previous-status`: each event agrees with the previous one. */
import type { Invariant, Published } from '../model/history.ts';
import { secretMark } from '../model/token-desk.ts';
import type { SimWorld } from '../world/sim-world.ts';

/** The copied field `status` of an event if fields are copied, otherwise its status. */
function copiedStatus(text: string): string | null {
  const { status, fields } = JSON.parse(text).detail.data;
  return status === null ? null : (fields?.status ?? status);
}

export function checkEvents({ history, plan }: SimWorld): void {
  for (const [subject, numbered] of history.events) {
    const events = [...numbered.values()].sort((a, b) => a.sequence - b.sequence);
    const violated = (invariant: Invariant, text: string) =>
      history.violated({ invariant, subject, message: `advert ${subject}: ${text}` });

    events.forEach((event, index) => {
      const before = events[index - 1];
      if (event.sequence !== index + 1)
        violated('one-history', `event ${index + 1} is missing before event ${event.sequence}`);
      if (event.texts.size > 1)
        violated('one-history', `event ${event.sequence} came with ${event.texts.size} contents`);
      for (const text of event.texts) {
        if (copiedStatus(text) !== event.status)
          violated(
            'one-history',
            `event ${event.sequence} (${event.status}) carries fields of another answer`,
          );
        if (plan.seed % 2 === 0 && event.status !== null && !text.includes('"fields"'))
          violated(
            'one-history',
            `event ${event.sequence} carries no fields, although they are to be copied`,
          );
      }
      if (!event.fetch)
        violated('one-history', `event ${event.sequence} (${event.status}) comes of no fetch of the advert`);
      else if (event.fetch.status !== event.status) {
        violated(
          'one-history',
          `event ${event.sequence} says ${event.status}, but ${event.fetch.status} was seen`,
        );
      }
      if (before && isEarlier(event, before)) {
        violated(
          'one-history',
          `event ${event.sequence} (${event.status}) was seen before event ${before.sequence} (${before.status})`,
        );
      }
      const expected = before ? before.status : null;
      if (event.previousStatus !== expected && before?.sequence === event.sequence - 1) {
        violated(
          'previous-status',
          `event ${event.sequence} says that ${event.previousStatus} came before, but it was ${expected}`,
        );
      }
      if ([...event.texts].some((text) => text.includes(secretMark)))
        violated('credentials-kept', 'an event holds a secret');
    });
  }
}

const isEarlier = ({ fetch }: Published, before: Published): boolean =>
  fetch !== undefined && before.fetch !== undefined && fetch.seenTick < before.fetch.seenTick;

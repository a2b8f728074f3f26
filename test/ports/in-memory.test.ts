import { createInMemoryEvents } from '../fakes/event-publisher.ts';
import { createInMemoryState } from '../fakes/state.ts';
import { createInMemoryStore } from '../fakes/store.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { asideSuite } from './aside.suite.ts';
import { booksSuite } from './books.suite.ts';
import { changedAdvertsQueueSuite } from './changed-adverts-queue.suite.ts';
import { eventPublisherSuite } from './event-publisher.suite.ts';
import { storeSuite } from './store.suite.ts';

const name = 'in memory';

async function make() {
  const clock = createManualClock();
  const state = createInMemoryState({ clock });
  return { ...state, advance: clock.advance, now: clock.now };
}

storeSuite(name, async () => ({ store: createInMemoryStore() }));
changedAdvertsQueueSuite(name, { controlsTime: true, deduplicates: true }, make);
asideSuite(name, make);
booksSuite(name, make);
eventPublisherSuite(name, { deduplicates: false }, async () => inMemoryBus(createInMemoryEvents()));
eventPublisherSuite(`${name}, custom`, { deduplicates: true }, async () =>
  inMemoryBus(createInMemoryEvents(() => 0)),
);

function inMemoryBus(events: ReturnType<typeof createInMemoryEvents>) {
  const accepted = () => events.accepted.map((envelope) => JSON.parse(envelope).detail.metadata.eventId);
  return { publisher: events, accepted };
}

import { expect, it } from 'vitest';
import { createAside } from '../../../../shared/state/aside.ts';
import { createDeadLetters } from '../../../../shared/state/dead-letters.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { changedAdvert, deadLetterOf, settlement } from '../../../helpers/records.ts';

it('a dead letter that is stored again while it is being redriven stays', async () => {
  const store = createInMemoryStore();
  const message = changedAdvert();
  const { store: storeSettled } = createAside(store);
  const giveUp = () => {
    const delivery = { id: '1', message, position: '1:1', receives: 1, sentAt: 0 };
    return storeSettled([settlement(delivery, { kind: 'dead-letter', deadLetter: deadLetterOf(message) })]);
  };
  await giveUp();
  const deadLetters = createDeadLetters({
    ...store,
    // The drain puts the message back at once, and fan-out gives it up again.
    async remove(key, expected) {
      if (key.kind === 'dead') await giveUp();
      return store.remove(key, expected);
    },
  });

  const stored = await deadLetters.list();
  await deadLetters.redrive(stored.map((one) => ({ ...one, message })));

  expect(await deadLetters.list()).toMatchObject([{ message }]);
});

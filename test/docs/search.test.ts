import {
  aLambdaEvent,
  anAdvertHistory,
  anAdvertStatusChanged,
  createInMemoryPositions,
  latestStatuses,
  playEvents,
} from 'advert-bridge-kit/testing';
import { expect, it } from 'vitest';
import { createSearchHandler } from './search.ts';

function search() {
  const found = new Set<string>();
  const index = {
    put: async (advert: string) => void found.add(advert),
    remove: async (advert: string) => void found.delete(advert),
  };
  return { found, handler: createSearchHandler(index, createInMemoryPositions()) };
}

it('finds an advert that is active', async () => {
  const { found, handler } = search();

  await handler(aLambdaEvent([anAdvertStatusChanged({ advertId: '7', status: 'active' })]));

  expect([...found]).toEqual(['7']);
});

it.each([1, 2, 3, 4, 5])('is right whatever the order, seed %i', async (seed) => {
  const { found, handler } = search();
  const history = [
    ...anAdvertHistory(['new', 'active', 'sold'], { advertId: '7' }),
    ...anAdvertHistory(['active', null, 'active'], { advertId: '8' }),
  ];

  for (const batch of playEvents(history, { seed })) await handler(aLambdaEvent(batch));

  expect(latestStatuses(history)).toEqual(
    new Map([
      ['main/7', 'sold'],
      ['main/8', 'active'],
    ]),
  );
  expect([...found]).toEqual(['8']);
});

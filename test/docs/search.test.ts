import { advertEventHandler } from 'advert-bridge-kit/subscriber';
import {
  aLambdaEvent,
  anAdvertHistory,
  createInMemoryPositions,
  latestStatuses,
  playEvents,
} from 'advert-bridge-kit/testing';
import { expect, it } from 'vitest';

it.each([1, 2, 3])('ends with the latest status in any order, seed %i', async (seed) => {
  const found = new Map<string, string>();
  const handler = advertEventHandler({
    positions: createInMemoryPositions(),
    on: { AdvertStatusChanged: ({ detail: { data } }) => found.set(`main/${data.advertId}`, data.status) },
  });
  const history = anAdvertHistory(['new', 'active', 'sold']);

  for (const batch of playEvents(history, { seed })) await handler(aLambdaEvent(batch));

  expect(found).toEqual(latestStatuses(history));
});

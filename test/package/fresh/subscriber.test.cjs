/* global expect, test */
// A subscriber's test in a project with Jest as it comes: CommonJS, nothing configured.
const { envelopes } = require('advert-bridge-kit/contract');
const { AdvertSubscription } = require('advert-bridge-kit/cdk');
const { advertEventHandler, BatchFailedError } = require('advert-bridge-kit/subscriber');
const {
  aLambdaEvent,
  anAdvertHistory,
  createInMemoryPositions,
  playEvents,
} = require('advert-bridge-kit/testing');
const { App, Stack } = require('aws-cdk-lib');

test('a handler applies each event once', async () => {
  const applied = [];
  const handler = advertEventHandler({
    positions: createInMemoryPositions(),
    on: { AdvertStatusChanged: async ({ detail }) => void applied.push(detail.data.status) },
  });

  for (const batch of playEvents(anAdvertHistory(['new', 'active', 'sold']), { seed: 1, duplicates: 1 })) {
    expect((await handler(aLambdaEvent(batch))).batchItemFailures).toEqual([]);
  }

  expect(applied.at(-1)).toBe('sold');
  expect(new Set(applied).size).toBe(applied.length);
});

test('the other entry points load', () => {
  expect(Object.keys(envelopes)).toContain('AdvertStatusChanged');
  expect(new BatchFailedError(1)).toBeInstanceOf(Error);
  const stack = new Stack(new App(), 'Search', { env: { account: '222222222222', region: 'eu-central-1' } });
  expect(new AdvertSubscription(stack, 'Adverts', { bridgeAccount: '111111111111' }).queue).toBeDefined();
});

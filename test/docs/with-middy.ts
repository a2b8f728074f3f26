import middy from '@middy/core';
import { type AdvertBatch, advertEvents, type PositionStore } from 'advert-bridge/subscriber';

export const createHandler = (store: PositionStore) =>
  middy()
    .use(advertEvents({ store }))
    .handler(async ({ deliveries }: AdvertBatch) => {
      for (const { event } of deliveries) console.log(event['detail-type']);
    });

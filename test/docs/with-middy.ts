import middy from '@middy/core';
import { type AdvertBatch, advertBatchMiddleware, type PositionStore } from 'advert-bridge-kit/subscriber';

export const createHandler = (positions: PositionStore) =>
  middy()
    .use(advertBatchMiddleware({ positions }))
    .handler(async ({ deliveries }: AdvertBatch) => {
      for (const { event } of deliveries) console.log(event['detail-type']);
    });

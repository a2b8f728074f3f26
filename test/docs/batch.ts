import { advertBatchHandler, type PositionStore } from 'advert-bridge-kit/subscriber';

export const createHandler = (positions: PositionStore, writeAll: (statuses: object[]) => Promise<void>) =>
  advertBatchHandler({ positions }, async ({ deliveries }) => {
    await writeAll(deliveries.map(({ event }) => event.detail.data));
  });

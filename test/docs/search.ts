import { advertEventHandler, type PositionStore } from 'advert-bridge/subscriber';

export interface SearchIndex {
  put(advert: string): Promise<void>;
  remove(advert: string): Promise<void>;
}

export const createSearchHandler = (index: SearchIndex, store: PositionStore) =>
  advertEventHandler({ store }, async ({ deliveries }) => {
    for (const { event } of deliveries) {
      switch (event['detail-type']) {
        case 'AdvertStatusChanged':
          if (event.detail.data.status === 'active') await index.put(event.detail.data.advertId);
          else await index.remove(event.detail.data.advertId);
          break;
        case 'AdvertUnavailable':
          await index.remove(event.detail.data.advertId);
      }
    }
  });

import { advertEventHandler, type PositionStore } from 'advert-bridge-kit/subscriber';

export interface SearchIndex {
  put(advert: string): Promise<void>;
  remove(advert: string): Promise<void>;
}

export const createSearchHandler = (index: SearchIndex, positions: PositionStore) =>
  advertEventHandler({
    positions,
    on: {
      AdvertStatusChanged: async ({ detail: { data } }) => {
        if (data.status === 'active') await index.put(data.advertId);
        else await index.remove(data.advertId);
      },
      AdvertUnavailable: ({ detail: { data } }) => index.remove(data.advertId),
    },
  });

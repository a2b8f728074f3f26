import * as api from '@opentelemetry/api';
import { advertEventHandler, type PositionStore } from 'advert-bridge-kit/subscriber';

export const createHandler = (positions: PositionStore) =>
  advertEventHandler({
    positions,
    tracing: { api },
    on: {
      AdvertStatusChanged: async ({ detail }) => console.log(detail.data),
    },
  });

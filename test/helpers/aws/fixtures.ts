import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { changedAdvert } from '../records.ts';

export const aMessage = (advertId = '123', fields: Partial<ChangedAdvert> = {}): ChangedAdvert =>
  changedAdvert({ advertId, correlationId: '0b6c1f5e-6c1c-4f4e-9d55-0f2d7a1b2c3d', ...fields });

/** An event as it is published, of the usual size. */
export const anEnvelope = (advertId = '123', sequence = 7) =>
  JSON.stringify({
    source: 'advert-bridge',
    'detail-type': 'AdvertStatusChanged',
    time: '2026-11-20T12:00:00.123Z',
    resources: [`advert-bridge/main/advert/${advertId}`],
    detail: {
      metadata: {
        eventId: `main/1763640000/${advertId}/${sequence}`,
        schemaVersion: '1.0',
        partnerAccount: 'main',
        generation: 1_763_640_000,
        sequence,
        listedAt: '2026-11-20T11:59:59.801Z',
        observedAt: '2026-11-20T12:00:00.123Z',
        cause: 'feed',
        correlationId: '0b6c1f5e-6c1c-4f4e-9d55-0f2d7a1b2c3d',
      },
      data: { advertId, status: 'active', previousStatus: 'new' },
    },
  });

import type { ChangedAdvert, DeadLetter } from '../../../shared/contract/messages.ts';
import type { MetricName } from '../../../shared/contract/names.ts';
import type { Clock } from '../../../shared/domain/clock.ts';
import type { Observer } from '../../../shared/ports/observer.ts';

export const aMessage = (advertId = '123', fields: Partial<ChangedAdvert> = {}): ChangedAdvert => ({
  key: `0b6c1f5e-6c1c-4f4e-9d55-0f2d7a1b2c3d:${advertId}`,
  partnerAccount: 'main',
  generation: 1_763_640_000,
  feed: 'adverts',
  advertId,
  listedAt: '2026-11-20T11:59:59.801Z',
  cause: 'feed',
  correlationId: '0b6c1f5e-6c1c-4f4e-9d55-0f2d7a1b2c3d',
  ...fields,
});

export const aLetter = (fields: Partial<DeadLetter> = {}): DeadLetter => ({
  partnerAccount: 'main',
  advertId: '123',
  fault: 'contract-broken',
  reason: 'status: expected 1 to 256 characters',
  at: '2026-11-20T12:00:00.000Z',
  receives: 5,
  message: aMessage(),
  ...fields,
});

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

/** A clock that advances only during sleeps. */
export function aClock(start = 0): Clock & { readonly slept: number[] } {
  let now = start;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    async sleep(ms) {
      slept.push(ms);
      now += ms;
    },
  };
}

/** Records its calls. */
export function anObserver() {
  const lines: { level: string; message: string; fields?: unknown }[] = [];
  const counts: [MetricName, number][] = [];
  const at = (level: string) => (message: string, fields?: unknown) => {
    lines.push({ level, message, fields });
  };
  const observer: Observer = {
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    count: (metric, value) => {
      counts.push([metric, value]);
    },
  };
  return { observer, lines, counts };
}

import {
  applyIfNewer,
  NotAnEventError,
  type PositionStore,
  parseSqsRecord,
  type SqsRecord,
} from 'advert-bridge-kit/subscriber';

/** @returns whether the message is done with; otherwise leave it in the queue */
export async function handleMessage(message: SqsRecord, positions: PositionStore): Promise<boolean> {
  try {
    const event = parseSqsRecord(message);
    if (event['detail-type'] !== 'AdvertStatusChanged') return true;
    const { outcome, missing } = await applyIfNewer(event, { positions, leaseMs: 60_000 }, ({ detail }) =>
      console.log(detail.data.status),
    );
    if (outcome === 'gap') console.warn(`${missing} events of advert ${event.detail.data.advertId} skipped`);
    return true;
  } catch (error) {
    if (error instanceof NotAnEventError) console.error(error.reason);
    return false;
  }
}

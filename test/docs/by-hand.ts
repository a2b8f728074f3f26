import { applyIfNewer, type PositionStore, parseBody, RefusedEventError } from 'advert-bridge-kit/subscriber';

/** @returns whether the message is done with; otherwise leave it in the queue */
export async function handleMessage(body: string, positions: PositionStore): Promise<boolean> {
  try {
    const event = parseBody(body);
    if (event['detail-type'] !== 'AdvertStatusChanged') return true;
    const { outcome, missing } = await applyIfNewer(event, { positions, leaseMs: 60_000 }, ({ detail }) =>
      console.log(detail.data.status),
    );
    if (outcome === 'gap') console.warn(`${missing} events of advert ${event.detail.data.advertId} skipped`);
    return true;
  } catch (error) {
    if (error instanceof RefusedEventError) console.error(error.message);
    return false;
  }
}

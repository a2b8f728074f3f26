import type { AdvertEvent } from '../../shared/contract/events.ts';
import { orderDetailTypes } from '../../shared/contract/names.ts';
import type { OrderEvent } from '../../shared/contract/order-events.ts';
import { anAdvertStatusChanged, anAdvertUnavailable } from '../../subscriber/testing/index.ts';

/** The same example for an order: the advert's ID becomes the order's ID. */
function ofOrder({ detail, ...event }: AdvertEvent, detailType: string): OrderEvent {
  const { advertId, ...data } = detail.data;
  const { metadata } = detail;
  const eventId = `${metadata.partnerAccount}/${metadata.generation}/order-${advertId}/${metadata.sequence}`;
  return {
    ...event,
    'detail-type': detailType,
    resources: [`advert-bridge/${metadata.partnerAccount}/order/${advertId}`],
    detail: { metadata: { ...metadata, eventId }, data: { orderId: advertId, ...data } },
  } as OrderEvent;
}

export const anOrderStatusChanged = (): OrderEvent =>
  ofOrder(anAdvertStatusChanged({ status: 'new' }), orderDetailTypes.statusChanged);
export const anOrderUnavailable = (): OrderEvent =>
  ofOrder(anAdvertUnavailable({ sequence: 2, previousStatus: 'new' }), orderDetailTypes.unavailable);

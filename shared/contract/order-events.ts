/**
 * Events of the orders feed. Assumed, like the feed (partner-api.md §4.8): not part of the released contract, and they may
 * change until the service has published it.
 */
import * as v from 'valibot';
import { advertId as objectId, status } from './checks.ts';
import { advertMetadata, copiedFields, envelopeOf, previousStatus } from './events.ts';
import { orderDetailTypes } from './names.ts';

const orderMetadata = v.object(advertMetadata.entries);
const statusChangedData = v.object({ orderId: objectId, status, previousStatus, ...copiedFields });
const unavailableData = v.object({ orderId: objectId, status: v.null(), previousStatus });
const statusChangedDetail = v.object({ metadata: orderMetadata, data: statusChangedData });
const unavailableDetail = v.object({ metadata: orderMetadata, data: unavailableData });

/** The objects inside these events, under the names that code generators use for their types. */
export const orderParts = {
  OrderMetadata: orderMetadata,
  OrderStatusChangedDetail: statusChangedDetail,
  OrderStatusChangedData: statusChangedData,
  OrderUnavailableDetail: unavailableDetail,
  OrderUnavailableData: unavailableData,
} as const;

/** The schema of the whole envelope, for each detail type. */
export const orderEnvelopes = {
  [orderDetailTypes.statusChanged]: envelopeOf(orderDetailTypes.statusChanged, statusChangedDetail),
  [orderDetailTypes.unavailable]: envelopeOf(orderDetailTypes.unavailable, unavailableDetail),
} as const;

export type OrderEvent = v.InferOutput<(typeof orderEnvelopes)[keyof typeof orderEnvelopes]>;

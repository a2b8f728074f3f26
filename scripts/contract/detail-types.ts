import { envelopes } from '../../shared/contract/events.ts';
import { orderEnvelopes } from '../../shared/contract/order-events.ts';

/** The events of every feed, including assumed ones. */
export const allEnvelopes = { ...envelopes, ...orderEnvelopes } as const;

export type EventDetailType = keyof typeof allEnvelopes;

/** Assumed detail types are not part of a release: they may change until the service has published their feed. */
export const isAssumed = (detailType: EventDetailType): boolean => detailType in orderEnvelopes;

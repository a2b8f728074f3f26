import type { envelopes } from '../../shared/contract/events.ts';

export type EventDetailType = keyof typeof envelopes;

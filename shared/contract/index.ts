/** The contract as other teams import it: `advert-bridge-kit/contract`. */
export {
  type AdvertEvent,
  type AdvertStatusChanged,
  type AdvertUnavailable,
  type AuthorizationEvent,
  type Cause,
  causes,
  type Envelope,
  envelope,
  envelopes,
  type StopReason,
  stopReasons,
} from './events.ts';
export { detailTypes, eventSource, schemaVersion } from './names.ts';

/** The contract as other teams import it: `advert-bridge-kit/contract`. */
export {
  type AdvertEvent,
  type AuthorizationEvent,
  type Cause,
  causes,
  type Envelope,
  envelope,
  envelopes,
  type StatusChanged,
  type StopReason,
  stopReasons,
  type Unavailable,
} from './events.ts';
export { detailTypes, eventSource, schemaVersion } from './names.ts';

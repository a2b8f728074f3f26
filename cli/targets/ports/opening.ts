import type { Place } from '../../shared/explain.ts';
import type { Target } from '../../shared/target.ts';

/** What a bridge is opened with. */
export interface Opening<T extends Target> {
  readonly target: T;
  /** What becomes known of the bridge is added, for the message of an error. */
  readonly place: Place;
  /** What is called when the command is over, the last first. */
  onClose(close: () => void): void;
}

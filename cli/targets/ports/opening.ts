import type { Place } from '../../shared/explain.ts';
import type { Target } from '../../shared/target.ts';

/** The context in which a bridge is opened. */
export interface Opening<T extends Target> {
  readonly target: T;
  /** Facts about the bridge are added as they become known, for error messages. */
  readonly place: Place;
  /** Functions to call when the command ends, in reverse order. */
  onClose(close: () => void): void;
}

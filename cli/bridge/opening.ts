import type { BridgeSettings } from '../../shared/contract/settings.ts';
import type { EmbeddedStateOptions } from '../../shared/sqlite/state.ts';
import type { Place } from '../shared/explain.ts';
import type { Target } from '../shared/target.ts';

export interface OpenOptions extends Pick<EmbeddedStateOptions, 'onFault'> {
  /** Creates the folder if it does not exist. By default its name may be a mistake. */
  readonly create?: boolean;
  /** Only for an embedded bridge: no byte of the folder changes. */
  readonly isReadOnly?: boolean;
  /** Given on the command line, only for an embedded bridge: a stack has its own. */
  readonly settings?: Partial<BridgeSettings>;
}

/** The context in which a bridge is opened; facts for error messages are added to it as they become known. */
export interface Opening<T extends Target> extends OpenOptions, Place {
  readonly target: T;
  /** Functions to call when the command ends, in reverse order. */
  onClose(close: () => void): void;
}

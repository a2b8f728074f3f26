import type { Bridge } from '../../operations/bridge.ts';
import type { EmbeddedState } from '../../shared/sqlite/state.ts';
import type { LocalTarget } from '../shared/target.ts';
import type { Opening } from './opening.ts';

/** An embedded bridge, with what only its own commands need. */
export interface FolderBridge extends Bridge, Pick<Opening<LocalTarget>, 'target' | 'place' | 'onClose'> {
  readonly state: EmbeddedState;
  /**
   * Base URL of the partner service.
   *
   * @throws {CommandError} if no application was stored yet
   */
  baseUrl(): string;
}

/** Name of the partner service's base URL in the stored settings. */
export const baseUrlSetting = 'base-url';

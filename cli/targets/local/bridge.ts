/** Opens an embedded bridge's folder for a command, even while a `run` uses the same folder. */
import { statSync } from 'node:fs';
import * as v from 'valibot';
import { CommandError } from '../../../operations/errors.ts';
import { type BridgeSettings, bridgeSettingsSchema } from '../../../shared/contract/settings.ts';
import { stateFileIn } from '../../../shared/sqlite/file/private-folder.ts';
import {
  type EmbeddedState,
  type EmbeddedStateOptions,
  openEmbeddedState,
} from '../../../shared/sqlite/state.ts';
import { applicationCommand } from '../../shared/explain.ts';
import type { LocalTarget } from '../../shared/target.ts';
import type { Opening } from '../ports/opening.ts';

export interface LocalBridge extends Opening<LocalTarget> {
  readonly state: EmbeddedState;
}

export interface LocalOptions extends Pick<EmbeddedStateOptions, 'onFault'> {
  /**
   * Creates the folder if it does not exist. Default: a folder without a bridge is not changed, because its name may be
   * a mistake.
   */
  readonly create?: boolean;
}

/** Name of the partner service's base URL in the stored settings. */
export const baseUrlSetting = 'base-url';

/**
 * @throws {StateError} if the state cannot be used
 * @throws {CommandError} if there is none and it must not be created
 */
export async function openLocalBridge(
  opening: Opening<LocalTarget>,
  { create = false, ...options }: LocalOptions,
): Promise<LocalBridge> {
  const { target, place, onClose } = opening;
  if (!create && isMissing(stateFileIn(target.dir))) {
    throw new CommandError(
      `there is no bridge in ${target.dir}. Begin one there: \`${applicationCommand(target)}\``,
    );
  }
  const state = openEmbeddedState(target.dir, options);
  onClose(() => state.close());
  place.baseUrl = await state.settings.read(baseUrlSetting);
  return { ...opening, state };
}

function isMissing(file: string): boolean {
  try {
    statSync(file);
    return false;
  } catch (error) {
    // For any other error, opening the file gives a better message.
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/**
 * Base URL of the partner service.
 *
 * @throws {CommandError} if no application was stored yet
 */
export function baseUrlOf({ target, place }: LocalBridge): string {
  if (place.baseUrl !== undefined) return place.baseUrl;
  throw new CommandError(
    `the application is not known yet. Store it first: \`${applicationCommand(target)}\``,
  );
}

/** The given settings, with defaults for all others. */
export const settingsWith = (given: Partial<BridgeSettings> = {}): BridgeSettings =>
  v.parse(bridgeSettingsSchema, given);

/** An embedded bridge's folder, opened for a command; works beside a `run` of the same folder. */
import { statSync } from 'node:fs';
import * as v from 'valibot';
import { CommandError } from '../../../operations/errors.ts';
import { type BridgeSettings, bridgeSettings } from '../../../shared/contract/settings.ts';
import { stateFileIn } from '../../../shared/sqlite/file/state-file.ts';
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
  /** Makes the folder when there is none. Default: a folder without a bridge is left alone, for its name may be a slip. */
  readonly create?: boolean;
}

/** Under this name the base URL of the partner service stands among the state's settings. */
export const baseUrlSetting = 'base-url';

/**
 * @throws {StateError} when the state cannot be used as it is
 * @throws {CommandError} when there is none, and none is to be made
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
    // Opening the file tells any other error better.
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Where the partner service is. @throws {CommandError} when no application was stored yet */
export function baseUrlOf({ target, place }: LocalBridge): string {
  if (place.baseUrl !== undefined) return place.baseUrl;
  throw new CommandError(
    `the application is not known yet. Store it first: \`${applicationCommand(target)}\``,
  );
}

/** The settings given, and the defaults of all others. */
export const settingsWith = (given: Partial<BridgeSettings> = {}): BridgeSettings =>
  v.parse(v.object(bridgeSettings), given);

import type { EmbeddedState } from '../../../embedded/state/state.ts';
import { parsedJson } from '../../../shared/contract/checks.ts';

/** Where a folder's accounts have gone, or are going. From this note on, `move` alone may use the folder. */
export interface MovedTo {
  /** As `--stack` names it. */
  readonly stack: string;
  /** By which it is recognized: unique, and the same for each deployment. */
  readonly queueUrl: string;
  readonly isDone: boolean;
}

const setting = 'moved-to';

export async function movedTo({ settings }: Pick<EmbeddedState, 'settings'>): Promise<MovedTo | undefined> {
  const text = await settings.read(setting);
  return text === undefined ? undefined : (parsedJson(text) as MovedTo);
}

export const noteMove = ({ settings }: Pick<EmbeddedState, 'settings'>, to: MovedTo): Promise<void> =>
  settings.write(setting, JSON.stringify(to));

import type { EmbeddedState } from '../../shared/sqlite/state.ts';
import type { Bridge, OpenBridge } from '../shared/bridge.ts';
import { explained, type Place } from '../shared/explain.ts';
import type { Target } from '../shared/target.ts';
import type { LocalOptions } from './local/bridge.ts';

/**
 * Opens the bridge meant, lets `work` use it and closes it. The SDK's modules are loaded only for a stack.
 *
 * @throws {CommandError} with a message that says what to do
 */
export async function withBridge<T>(
  target: Target,
  work: (bridge: Bridge, place: Place) => Promise<T>,
  options: LocalOptions = {},
): Promise<T> {
  let place: Place = { target };
  try {
    const opened = await open(target, options);
    place = opened.place;
    try {
      return await work(opened.bridge, place);
    } finally {
      await opened.bridge.close();
    }
  } catch (error) {
    throw explained(error, place);
  }
}

async function open(target: Target, options: LocalOptions): Promise<OpenBridge> {
  if (target.kind === 'local') {
    const { openLocalBridge } = await import('./local/bridge.ts');
    return openLocalBridge(target, options);
  }
  const { openDeployedBridge } = await import('./stack/bridge.ts');
  return openDeployedBridge(target);
}

/**
 * Opens the state of an embedded bridge, lets `work` use it and closes it.
 *
 * @throws {CommandError} with a message that says what to do
 */
export async function withLocalState<T>(
  target: Extract<Target, { kind: 'local' }>,
  work: (state: EmbeddedState) => Promise<T>,
): Promise<T> {
  try {
    const { openState } = await import('./local/bridge.ts');
    const state = openState(target);
    try {
      return await work(state);
    } finally {
      state.close();
    }
  } catch (error) {
    throw explained(error, { target });
  }
}

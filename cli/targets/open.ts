/** Opens the bridge that a command is for. Only the modules of its kind are loaded: SQLite or the AWS SDK. */
import { explained, type Place } from '../shared/explain.ts';
import type { LocalTarget, StackTarget, Target } from '../shared/target.ts';
import type { LocalBridge, LocalOptions } from './local/bridge.ts';
import type { Examined } from './ports/examined.ts';
import type { StackBridge } from './stack/bridge.ts';

/** What a command needs of a bridge, and how each kind of bridge gives it. */
export interface Need<T> {
  local(bridge: LocalBridge): Promise<T>;
  stack(bridge: StackBridge): Promise<T>;
}

/**
 * Gives `work` what it needs of the bridge meant, and closes everything after it.
 *
 * @throws {CommandError} with a message that says what to do
 */
export function withBridge<T, R>(
  target: Target,
  need: Need<T>,
  work: (needed: T, place: Place) => Promise<R>,
  options?: LocalOptions,
): Promise<R> {
  return target.kind === 'local'
    ? withLocal(target, async (bridge) => work(await need.local(bridge), bridge.place), options)
    : withStack(target, async (bridge) => work(await need.stack(bridge), bridge.place));
}

/** Like {@link withBridge}, for what only an embedded bridge has. */
export function withLocal<R>(
  target: LocalTarget,
  work: (bridge: LocalBridge) => Promise<R>,
  options: LocalOptions = {},
): Promise<R> {
  return opened(target, async (place, onClose) => {
    const { openLocalBridge } = await import('./local/bridge.ts');
    return work(await openLocalBridge(target, place, onClose, options));
  });
}

/** Like {@link withBridge}, for what only a stack has. */
export function withStack<R>(target: StackTarget, work: (bridge: StackBridge) => Promise<R>): Promise<R> {
  return opened(target, async (place, onClose) => {
    const { openStackBridge } = await import('./stack/bridge.ts');
    return work(await openStackBridge(target, place, onClose));
  });
}

/** Gives `work` what `doctor` looks at: the bridge need not be there, and nothing of it changes. */
export function withExamined<R>(
  target: Target,
  work: (examined: Examined, place: Place) => Promise<R>,
): Promise<R> {
  return opened(target, async (place, onClose) => {
    if (target.kind === 'local') {
      const { localExamined } = await import('./local/doctor/examined.ts');
      return work(localExamined(target, place, onClose), place);
    }
    const { stackExamined } = await import('./stack/doctor/examined.ts');
    return work(stackExamined(target, place, onClose), place);
  });
}

async function opened<R>(
  target: Target,
  work: (place: Place, onClose: (close: () => void) => void) => Promise<R>,
): Promise<R> {
  const place: Place = { target };
  const closers: (() => void)[] = [];
  try {
    return await work(place, (close) => closers.push(close));
  } catch (error) {
    throw explained(error, place);
  } finally {
    for (const close of closers.reverse()) close();
  }
}

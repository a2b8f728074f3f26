/** Opens the bridge that a command acts on. Only the modules of its kind are loaded: SQLite or the AWS SDK. */
import type { Bridge } from '../../operations/bridge.ts';
import { explained, type Place } from '../shared/explain.ts';
import type { LocalTarget, StackTarget, Target } from '../shared/target.ts';
import type { FolderBridge } from './open-folder.ts';
import type { StackBridge } from './open-stack.ts';
import type { Opening, OpenOptions } from './opening.ts';

/** Calls `work` with the bridge, closes everything afterwards, and explains its errors. */
export const withBridge = <R>(
  target: Target,
  work: (bridge: Bridge, place: Place) => Promise<R>,
  options?: OpenOptions,
): Promise<R> =>
  target.kind === 'local' ? withLocal(target, work, options) : withStack(target, work, options);

export const withLocal = <R>(
  target: LocalTarget,
  work: (bridge: FolderBridge, place: Place) => Promise<R>,
  options?: OpenOptions,
): Promise<R> =>
  withOpening(target, options, async (opening) => {
    const { openFolder } = await import('./open-folder.ts');
    return work(await openFolder(opening), opening);
  });

export const withStack = <R>(
  target: StackTarget,
  work: (bridge: StackBridge, place: Place) => Promise<R>,
  options?: OpenOptions,
): Promise<R> =>
  withOpening(target, options, async (opening) => {
    const { openStack } = await import('./open-stack.ts');
    return work(await openStack(opening), opening);
  });

/** Calls `work` in the context in which a bridge is opened; the bridge need not exist. Explains its errors. */
export async function withOpening<T extends Target, R>(
  target: T,
  options: OpenOptions | undefined,
  work: (opening: Opening<T>) => Promise<R>,
): Promise<R> {
  const closers: (() => void)[] = [];
  const opening: Opening<T> = { ...options, target, onClose: (close) => closers.push(close) };
  try {
    return await work(opening);
  } catch (error) {
    throw explained(error, opening);
  } finally {
    for (const close of closers.reverse()) close();
  }
}

/** Opens the bridge that a command acts on. Only the modules of its kind are loaded: SQLite or the AWS SDK. */
import { explained } from '../shared/explain.ts';
import type { LocalTarget, StackTarget, Target } from '../shared/target.ts';
import type { FolderBridge } from './open-folder.ts';
import type { StackBridge } from './open-stack.ts';
import type { Opening, OpenOptions } from './opening.ts';

type BridgeAt<T extends Target> = T extends LocalTarget ? FolderBridge : StackBridge;

/** Calls `work` with the bridge, closes everything afterwards, and explains its errors. */
export const withBridge = <T extends Target, R>(
  target: T,
  work: (bridge: BridgeAt<T>) => Promise<R>,
  options?: OpenOptions,
): Promise<R> =>
  withOpening(target, options, async (opening) => {
    const bridge =
      target.kind === 'local'
        ? await (await import('./open-folder.ts')).openFolder(opening as Opening<LocalTarget>)
        : await (await import('./open-stack.ts')).openStack(opening as Opening<StackTarget>);
    return work(bridge as BridgeAt<T>);
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

/** Opens the bridge that a command acts on. Only the modules of its kind are loaded: SQLite or the AWS SDK. */
import { explained } from '../shared/explain.ts';
import type { LocalTarget, Target } from '../shared/target.ts';
import type { FolderBridge, OpenOptions } from './open-folder.ts';
import type { StackBridge } from './open-stack.ts';

type BridgeAt<T extends Target> = T extends LocalTarget ? FolderBridge : StackBridge;

/**
 * Calls `work` with the bridge, closes its state afterwards, and explains its errors. Connections of AWS clients
 * stay open until the process ends, as that of every command does.
 */
export async function withBridge<T extends Target, R>(
  target: T,
  work: (bridge: BridgeAt<T>) => Promise<R>,
  options: OpenOptions = {},
): Promise<R> {
  let bridge: FolderBridge | StackBridge | undefined;
  try {
    bridge =
      target.kind === 'local'
        ? await (await import('./open-folder.ts')).openFolder(target, options)
        : await (await import('./open-stack.ts')).openStack(target);
    return await work(bridge as BridgeAt<T>);
  } catch (error) {
    throw explained(error, target, bridge?.baseUrl());
  } finally {
    if (bridge && 'state' in bridge) await bridge.close();
  }
}

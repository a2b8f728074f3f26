import { type StackPlace, textOfPlace, UsageError } from '../../operations/errors.ts';
import { stackName } from '../../shared/contract/names.ts';
import { quoted, shownUrl } from '../../shared/domain/text.ts';
import { programName } from './program.ts';

export interface LocalTarget {
  readonly kind: 'local';
  readonly dir: string;
}
export interface StackTarget extends StackPlace {
  readonly kind: 'stack';
}
/** The bridge that a command acts on: an embedded one with its state in a folder, or a deployed stack. */
export type Target = LocalTarget | StackTarget;

/** @throws {UsageError} for an empty or impossible name */
export function targetOf({ local, stack = stackName }: { local?: unknown; stack?: unknown }): Target {
  if (local !== undefined) return localTarget(local, '');
  const [, name, bridge] =
    /^([A-Za-z][A-Za-z0-9-]{0,127})(?:\/([A-Za-z][A-Za-z0-9-]{0,63}))?$/.exec(String(stack)) ?? [];
  if (name !== undefined) return { kind: 'stack', stack: name, ...(bridge !== undefined && { bridge }) };
  throw new UsageError(
    '--stack: expected the name of a CloudFormation stack, such as AdvertBridge, or STACK/BRIDGE where it has several bridges',
  );
}

/** @param why the reason, for the message if --local is missing */
export function localTarget(dir: unknown, why: string): LocalTarget {
  if (dir === undefined) {
    throw new UsageError(`--local DIR is needed: the folder of the embedded bridge. ${why}`);
  }
  if (dir === '') throw new UsageError('--local: expected the folder of an embedded bridge');
  return { kind: 'local', dir: String(dir) };
}

export function commandFor(target: Target, command: string): string {
  if (target.kind === 'local') return `${programName()} ${command} --local ${quoted(target.dir)}`;
  const stack = textOfPlace(target);
  return `${programName()} ${command}${stack === stackName ? '' : ` --stack ${stack}`}`;
}

export const mendsAt = (target: Target) => ({
  kind: target.kind,
  command: (words: string) => commandFor(target, words),
});

/** The query of a URL may be a secret and is not shown. The hint then says so, because it cannot be copied unchanged. */
export function webhookCommand(target: Target, url: string, command: (url: string) => string): string {
  if (new URL(url).search === '') return `\`${commandFor(target, command(shownUrl(url)))}\``;
  return `\`${commandFor(target, command('URL'))}\`, with the whole URL in quotes (its query may be a secret, and is not shown)`;
}

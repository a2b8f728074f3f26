import * as v from 'valibot';
import { stackName } from '../../shared/contract/names.ts';
import { quoted } from '../../shared/domain/text.ts';
import { type OptionSpecs, option } from './options.ts';
import { programName } from './program.ts';

export interface LocalTarget {
  readonly kind: 'local';
  readonly dir: string;
}
export interface StackTarget {
  readonly kind: 'stack';
  /** In the format of `--stack`: STACK, or STACK/BRIDGE where it has several bridges. */
  readonly stack: string;
}
/** The bridge that a command acts on: an embedded one with its state in a folder, or a deployed stack. */
export type Target = LocalTarget | StackTarget;

const expectedFolder = 'expected the folder of an embedded bridge';
const folder = v.pipe(v.string(expectedFolder), v.minLength(1, expectedFolder));
const stackPlace = v.pipe(
  v.string(),
  v.regex(
    /^[A-Za-z][A-Za-z0-9-]{0,127}(\/[A-Za-z][A-Za-z0-9-]{0,63})?$/,
    'expected the name of a CloudFormation stack, such as AdvertBridge, or STACK/BRIDGE where it has several bridges',
  ),
);
const stack = option(
  'NAME',
  'of the deployed stack; STACK/BRIDGE of several',
  v.optional(stackPlace, stackName),
);

/** The options that name the bridge, of commands that are for any bridge, for embedded ones alone, or for none. */
export const targetOptions = {
  any: {
    local: option('DIR', 'for the embedded bridge in the folder DIR', v.optional(folder)),
    stack: { ...stack, conflicts: ['local'] },
  },
  local: { local: option('DIR', 'the folder of the embedded bridge (required)', folder) },
  none: {},
} satisfies Record<string, OptionSpecs>;
export type Where = keyof typeof targetOptions;

/** @returns undefined for a command that is for no bridge */
export function targetOf({ local, stack }: Readonly<Record<string, unknown>>): Target | undefined {
  if (local !== undefined) return { kind: 'local', dir: String(local) };
  return stack === undefined ? undefined : { kind: 'stack', stack: String(stack) };
}

export function commandFor(target: Target, command: string): string {
  if (target.kind === 'local') return `${programName()} ${command} --local ${quoted(target.dir)}`;
  return `${programName()} ${command}${target.stack === stackName ? '' : ` --stack ${target.stack}`}`;
}

export const mendsAt = (target: Target) => ({
  kind: target.kind,
  command: (words: string) => commandFor(target, words),
});

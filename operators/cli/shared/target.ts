import * as v from 'valibot';
import { stackName } from '../../../shared/contract/names.ts';
import { quoted } from '../../../shared/domain/text.ts';
import type { Mends } from '../../../shared/findings/sentences.ts';
import { type OptionSpecs, option } from './options.ts';
import { programName } from './program.ts';

/** An embedded bridge, with its state in a folder. */
export interface LocalTarget extends Mends {
  readonly kind: 'local';
  readonly dir: string;
}
export interface StackTarget extends Mends {
  readonly kind: 'stack';
  /** In the format of `--stack`: STACK, or STACK/BRIDGE where it has several bridges. */
  readonly stack: string;
}
/** Of a command that acts on one of each. */
export interface BothTargets {
  readonly local: LocalTarget;
  readonly stack: StackTarget;
}
/** The bridge that a command acts on, and how other commands for it are written. */
export type Target = LocalTarget | StackTarget;

export const localTarget = (dir: string): LocalTarget => ({
  kind: 'local',
  dir,
  command: (words) => `${programName()} ${words} --local ${quoted(dir)}`,
});

export const stackTarget = (stack: string): StackTarget => ({
  kind: 'stack',
  stack,
  command: (words) => `${programName()} ${words}${stack === stackName ? '' : ` --stack ${stack}`}`,
});

const expectedFolder = 'expected the folder of an embedded bridge';
const folder = v.pipe(v.string(expectedFolder), v.minLength(1, expectedFolder), v.transform(localTarget));
const expectedStack =
  'expected the name of a CloudFormation stack, such as AdvertBridge, or STACK/BRIDGE where it has several bridges';
const stackPlace = v.pipe(
  v.string(expectedStack),
  v.regex(/^[A-Za-z][A-Za-z0-9-]{0,127}(\/[A-Za-z][A-Za-z0-9-]{0,63})?$/, expectedStack),
  v.transform(stackTarget),
);
const stackHelp = 'of the deployed stack; STACK/BRIDGE of several';

/** The options that name the bridge, of commands that are for any bridge, for embedded ones alone, or for none. */
export const targetOptions = {
  any: {
    local: option('DIR', 'for the embedded bridge in the folder DIR', v.optional(folder)),
    stack: { ...option('NAME', stackHelp, v.optional(stackPlace, stackName)), conflicts: ['local'] },
  },
  local: { local: option('DIR', 'the folder of the embedded bridge (required)', folder) },
  both: {
    local: option('DIR', 'from the embedded bridge in the folder DIR (required)', folder),
    stack: option('NAME', 'to the deployed stack; STACK/BRIDGE of several (required)', stackPlace),
  },
  none: {},
} satisfies Record<string, OptionSpecs>;
export type Where = keyof typeof targetOptions;

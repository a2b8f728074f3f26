import type { Bridge } from '../operations/bridge.ts';

export interface ConsoleOptions {
  readonly bridge: Bridge;
  /** 0: any free port. */
  readonly port: number;
  readonly isReadOnly: boolean;
  readonly version: string;
  /** Runs the command line: the program, with its arguments up to the command. */
  readonly program: readonly [string, ...string[]];
  /** The arguments that name the bridge, such as `--local DIR`. */
  readonly place: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A command of this program for this bridge. */
  readonly command: (words: string) => string;
  /** The command that starts this console again. */
  readonly again: string;
  readonly say: (text: string) => void;
  /** Only in the demo. */
  readonly breaks?: Breaks;
}

/** What can be broken on purpose, to see what the bridge does about it: only the demo has that. */
export interface Break {
  readonly name: string;
  /** What goes wrong, and what the bridge does about it. */
  readonly says: string;
  /** Whether it is broken now. */
  readonly isOn: boolean;
  /** Breaks it, or ends that. */
  readonly command: string;
}

export interface Breaks {
  list(): readonly Break[];
  /** Breaks it, or ends that. @throws {RangeError} for an unknown name */
  toggle(name: string): Promise<void>;
}

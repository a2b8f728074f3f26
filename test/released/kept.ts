import type { Lived } from './life.ts';
import type { StackState } from './stores.ts';

/** What a bridge of a release has stored, and what the release itself read from that. */
export interface Kept extends Lived {
  readonly meaning: unknown;
  /** Of a stack; that of an embedded bridge is the file bridge.db beside this. */
  readonly state?: StackState;
}

import type { Input } from '../http/input.ts';
import type { SandboxControl } from './control.ts';

/** One request to the control interface. */
export interface ControlCall {
  readonly control: SandboxControl;
  readonly input: Input;
  readonly query: URLSearchParams;
  /** The `{id}` of the path. */
  readonly id: string;
}

export interface ControlRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below /_sandbox. */
  readonly path: string;
  readonly does: string;
  /** An example of the body, with every allowed field unless `fields` lists them. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly fields?: readonly string[];
  readonly run: (call: ControlCall) => unknown;
}

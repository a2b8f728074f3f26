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

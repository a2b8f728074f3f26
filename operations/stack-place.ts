/** Identifies a deployed bridge. */
export interface StackPlace {
  /** Name of the CloudFormation stack. */
  readonly stack: string;
  /** Name of the bridge, if the stack has several. */
  readonly bridge?: string | undefined;
}

/** In the format of `--stack`. */
export const textOfPlace = ({ stack, bridge }: StackPlace): string =>
  bridge === undefined ? stack : `${stack}/${bridge}`;

/** A deployed bridge, and where it stands. */
export interface StackPlace {
  /** Name of the CloudFormation stack. */
  readonly stack: string;
  /** Name of the bridge, where the stack has several. */
  readonly bridge?: string | undefined;
}

/** As `--stack` takes it. */
export const textOfPlace = ({ stack, bridge }: StackPlace): string =>
  bridge === undefined ? stack : `${stack}/${bridge}`;

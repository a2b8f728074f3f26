import type { TokenPair } from '../domain/token-pair.ts';

/** The only interface that writes token secrets. */
export interface TokenVault extends TokenReader {
  /** Makes `pair` the current version. @returns the version */
  write(partnerAccount: string, pair: TokenPair): Promise<string>;
  /** No error if there is none. */
  remove(partnerAccount: string): Promise<void>;
}

/** Read access to the token pairs; only the refresh-token and connect functions write them. */
export interface TokenReader {
  /**
   * The current pair with its version, strongly consistent.
   *
   * @throws {ShapeError} when the secret is half-written or edited by hand
   */
  read(partnerAccount: string): Promise<{ readonly pair: TokenPair; readonly version: string } | undefined>;
}

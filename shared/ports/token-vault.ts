import type { StoredPair } from '../domain/token-pair.ts';

/** The only interface that writes token secrets. */
export interface TokenVault extends TokenReader {
  /** Makes `pair` the latest version; a few versions before it stay readable. @returns the version */
  write(partnerAccount: string, pair: StoredPair): Promise<string>;
  /** Removes all versions. No error if there is none. */
  remove(partnerAccount: string): Promise<void>;
}

/**
 * Read access to the token pairs; only the refresh-token and connect functions write them. Reads may lag behind writes:
 * the account's row, which names the version, decides.
 */
export interface TokenReader {
  /**
   * The pair of one version, or the latest pair if none is named.
   *
   * @returns undefined if there is none, or none yet
   * @throws {ShapeError} when the secret is half-written or edited by hand
   */
  read(
    partnerAccount: string,
    version?: string,
  ): Promise<{ readonly pair: StoredPair; readonly version: string } | undefined>;
}

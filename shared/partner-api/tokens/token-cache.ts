import { asPartnerError } from '../../domain/faults.ts';
import type { AccessToken } from '../../ports/token-source.ts';
import type { TokenReader } from '../../ports/token-vault.ts';
import { stoppedFault } from './token-faults.ts';

export interface CachedToken extends AccessToken {
  readonly expiresAt: number;
}

/** Caches access tokens in this process. The secret is read once for each version. */
export class TokenCache {
  readonly #reader: TokenReader;
  readonly #known = new Map<string, CachedToken>();
  readonly #reads = new Map<string, Promise<CachedToken>>();

  constructor(reader: TokenReader) {
    this.#reader = reader;
  }

  /** The last token that was read, of whatever version. */
  known(name: string): CachedToken | undefined {
    return this.#known.get(name);
  }

  /**
   * Returns the token of `version`; concurrent callers share one read of the secret.
   *
   * @returns undefined if the secret has another version: another process is about to write the row or the secret, or
   * has crashed before it could
   */
  async read(name: string, version: string | undefined): Promise<CachedToken | undefined> {
    const known = this.#known.get(name);
    // Planted fault: version-not-compared
    if (known && known.version === version) return known;
    let reading = this.#reads.get(name);
    if (!reading) {
      reading = this.#readSecret(name).finally(() => this.#reads.delete(name));
      this.#reads.set(name, reading);
    }
    const found = await reading;
    return found.version === version ? found : undefined;
  }

  async #readSecret(name: string): Promise<CachedToken> {
    const found = await this.#reader.read(name).catch((error: unknown) => {
      throw asPartnerError(error);
    });
    if (!found) {
      this.#known.delete(name);
      throw stoppedFault(name, 'it has no credentials');
    }
    const { pair, version } = found;
    const known = this.#known.get(name);
    // If it is the same token, return the same object, because headers are cached by it.
    const token = known?.version === version ? known.token : pair.accessToken;
    const fresh = { token, version, expiresAt: pair.expiresAt };
    this.#known.set(name, fresh);
    return fresh;
  }
}

import type { Secret } from './secret.ts';

/** As the service returned it. */
export interface TokenPair {
  readonly accessToken: Secret;
  readonly refreshToken: Secret;
  /** As granted, space separated. */
  readonly scope: string;
  /** Milliseconds since 1970, by the bridge's clock. */
  readonly expiresAt: number;
  readonly obtainedAt: number;
}

/** A pair with where it comes from, so that nobody takes it for the pair of another user or time. */
export interface StoredPair extends TokenPair {
  /** Generation of the partner account for which it was requested. */
  readonly generation: number;
  /** The version that it replaces; absent for the first pair of a generation. */
  readonly follows?: string;
}

import type { Secret } from './secret.ts';

export interface TokenPair {
  readonly accessToken: Secret;
  readonly refreshToken: Secret;
  /** As granted, space separated. */
  readonly scope: string;
  /** Milliseconds since 1970, by the bridge's clock. */
  readonly expiresAt: number;
  readonly obtainedAt: number;
}

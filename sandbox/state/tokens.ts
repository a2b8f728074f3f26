import { createHash } from 'node:crypto';
import type { Clock } from './clock.ts';
import { type Random, randomToken } from './random.ts';
import type { Settings } from './settings.ts';

const dayMs = 86_400_000;

/** One month from the last use. @see partner-api.md §8 */
const refreshTokenIdleMs = 2_592_000_000;

/** The result of one authorization: an access token and a refresh token, which later ones replace. */
export interface Grant {
  /** Null: a client_credentials grant, which belongs to no user. */
  readonly user: string | null;
  readonly scope: string;
  access: AccessToken | undefined;
  refreshToken: string;
  refreshTokenIssuedAtMs: number;
  lastUsedAtMs: number;
  revoked: boolean;
}

export interface AccessToken {
  readonly value: string;
  readonly grant: Grant;
  expiresAtMs: number;
  /** Identifies the token in the journal. */
  readonly fingerprint: string;
}

/** Access and refresh tokens by the rules of partner-api.md §5.3. */
export class TokenStore {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #settings: Settings;
  readonly #access = new Map<string, AccessToken>();
  /** Every refresh token ever issued; the current one of a grant was never superseded. */
  readonly #refresh = new Map<string, { readonly grant: Grant; supersededAtMs?: number }>();

  constructor(clock: Clock, random: Random, settings: Settings) {
    this.#clock = clock;
    this.#random = random;
    this.#settings = settings;
  }

  openGrant(user: string | null, scope: string, refreshToken = randomToken(this.#random)): Grant {
    const [nowMs, access] = [this.#clock.now(), undefined];
    const times = { refreshTokenIssuedAtMs: nowMs, lastUsedAtMs: nowMs };
    const grant = { user, scope, access, refreshToken, ...times, revoked: false };
    this.#refresh.set(refreshToken, { grant });
    return grant;
  }

  /** Every access and refresh token ever issued. */
  issued(): string[] {
    return [...this.#access.keys(), ...this.#refresh.keys()];
  }

  /** The user of this refresh token, valid or not. */
  ownerOfRefreshToken(value: string): string | null | undefined {
    return this.#refresh.get(value)?.grant.user;
  }

  /** @returns the access token, even if expired; undefined if it was never issued */
  accessToken(value: string): AccessToken | undefined {
    return this.#access.get(value);
  }

  isValid(token: AccessToken): boolean {
    return !token.grant.revoked && token.expiresAtMs > this.#clock.now();
  }

  /** @returns the grant to answer with, or undefined: invalid_grant */
  useRefreshToken(value: string): Grant | undefined {
    const { grant, supersededAtMs } = this.#refresh.get(value) ?? {};
    const nowMs = this.#clock.now();
    if (!grant || grant.revoked || nowMs - grant.lastUsedAtMs >= refreshTokenIdleMs) return undefined;
    if (supersededAtMs === undefined) return grant;
    const rule = this.#settings.assumptions.supersededRefreshToken;
    const isUsable = rule === 'always' || (rule === 'same-day' && this.#isSameDay(supersededAtMs, nowMs));
    return isUsable ? grant : undefined;
  }

  /**
   * The pair to answer with: the same access token while it is valid, otherwise a new one; the same refresh token on
   * the day it was issued, otherwise a new one.
   */
  pair(grant: Grant): { access: AccessToken; refreshToken: string; refreshTokenIsNew: boolean } {
    const nowMs = this.#clock.now();
    grant.lastUsedAtMs = nowMs;
    const refreshTokenIsNew = !this.#isSameDay(grant.refreshTokenIssuedAtMs, nowMs);
    if (refreshTokenIsNew) {
      this.#refresh.set(grant.refreshToken, { grant, supersededAtMs: nowMs });
      grant.refreshToken = randomToken(this.#random);
      grant.refreshTokenIssuedAtMs = nowMs;
      this.#refresh.set(grant.refreshToken, { grant });
    }
    if (grant.access === undefined || !this.isValid(grant.access)) {
      const value = randomToken(this.#random);
      const expiresAtMs = nowMs + this.#settings.accessTokenLifetimeSeconds * 1000;
      grant.access = { value, grant, expiresAtMs, fingerprint: fingerprint(value) };
      this.#access.set(value, grant.access);
    }
    return { access: grant.access, refreshToken: grant.refreshToken, refreshTokenIsNew };
  }

  /** Lets access tokens expire now. @param user default: all users. @returns how many were still valid */
  expireAccessTokens(user?: string): number {
    const valid = [...this.#access.values()].filter(
      (token) => (user === undefined || token.grant.user === user) && this.isValid(token),
    );
    for (const token of valid) token.expiresAtMs = this.#clock.now();
    return valid.length;
  }

  /** Revokes all grants of a user. @returns how many */
  revoke(user: string): number {
    const grants = new Set([...this.#refresh.values()].map(({ grant }) => grant));
    const revoked = [...grants].filter((grant) => grant.user === user && !grant.revoked);
    for (const grant of revoked) grant.revoked = true;
    return revoked.length;
  }

  #isSameDay(earlierMs: number, laterMs: number): boolean {
    if (this.#settings.assumptions.refreshTokenDay === 'rolling') return laterMs - earlierMs < dayMs;
    return Math.floor(earlierMs / dayMs) === Math.floor(laterMs / dayMs);
  }
}

/** Eight hex digits that tell tokens apart without revealing them. */
export function fingerprint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 8);
}

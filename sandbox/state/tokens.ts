import { createHash } from 'node:crypto';
import type { Assumptions } from './assumptions.ts';
import type { Clock } from './clock.ts';
import { type Random, randomToken } from './random.ts';

const dayMs = 86_400_000;

/** One month from the last use. @see partner-api.md §8 */
const refreshTokenIdleMs = 2_592_000_000;

/** The result of one authorization: an access token and a refresh token, which later ones replace. */
export interface Grant {
  /** Null: a client_credentials grant, which belongs to no user. */
  readonly user: string | null;
  readonly scope: string;
  access: AccessToken | undefined;
  refresh: RefreshToken;
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

interface RefreshToken {
  readonly value: string;
  readonly grant: Grant;
  readonly issuedAtMs: number;
  supersededAtMs: number | undefined;
}

export interface TokenStoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  assumptions(): Assumptions;
  accessTokenLifetimeSeconds(): number;
}

/** Access and refresh tokens by the rules of partner-api.md §5.3. */
export class TokenStore {
  readonly #options: TokenStoreOptions;
  readonly #access = new Map<string, AccessToken>();
  readonly #refresh = new Map<string, RefreshToken>();

  constructor(options: TokenStoreOptions) {
    this.#options = options;
  }

  /** @param refreshToken default: random */
  openGrant(user: string | null, scope: string, refreshToken?: string): Grant {
    const grant = { user, scope, lastUsedAtMs: this.#options.clock.now(), revoked: false } as Grant;
    this.#issueRefreshToken(grant, refreshToken);
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
    return !token.grant.revoked && token.expiresAtMs > this.#options.clock.now();
  }

  /** @returns the grant to answer with, or undefined: invalid_grant */
  useRefreshToken(value: string): Grant | undefined {
    const token = this.#refresh.get(value);
    const nowMs = this.#options.clock.now();
    if (token === undefined || token.grant.revoked) return undefined;
    if (nowMs - token.grant.lastUsedAtMs >= refreshTokenIdleMs) return undefined;
    if (token.supersededAtMs !== undefined && !this.#isStillValid(token.supersededAtMs, nowMs))
      return undefined;
    return token.grant;
  }

  /**
   * The pair to answer with: the same access token while it is valid, otherwise a new one; the same refresh token on
   * the day it was issued, otherwise a new one.
   */
  pair(grant: Grant): { access: AccessToken; refreshToken: string; refreshTokenIsNew: boolean } {
    const nowMs = this.#options.clock.now();
    grant.lastUsedAtMs = nowMs;
    const before = grant.refresh;
    if (!this.#isSameDay(before.issuedAtMs, nowMs)) {
      before.supersededAtMs = nowMs;
      this.#issueRefreshToken(grant);
    }
    const access =
      grant.access !== undefined && this.isValid(grant.access) ? grant.access : this.#issueAccessToken(grant);
    return { access, refreshToken: grant.refresh.value, refreshTokenIsNew: grant.refresh !== before };
  }

  /** Lets access tokens expire now. @param user default: all users. @returns how many were still valid */
  expireAccessTokens(user?: string): number {
    let expired = 0;
    for (const token of this.#access.values()) {
      if ((user !== undefined && token.grant.user !== user) || !this.isValid(token)) continue;
      token.expiresAtMs = this.#options.clock.now();
      expired += 1;
    }
    return expired;
  }

  /** Revokes all grants of a user. @returns how many */
  revoke(user: string): number {
    const grants = new Set<Grant>();
    for (const { grant } of this.#refresh.values())
      if (grant.user === user && !grant.revoked) grants.add(grant);
    for (const grant of grants) grant.revoked = true;
    return grants.size;
  }

  #issueAccessToken(grant: Grant): AccessToken {
    const value = randomToken(this.#options.random);
    const expiresAtMs = this.#options.clock.now() + this.#options.accessTokenLifetimeSeconds() * 1000;
    const access = { value, grant, expiresAtMs, fingerprint: fingerprint(value) };
    grant.access = access;
    this.#access.set(value, access);
    return access;
  }

  #issueRefreshToken(grant: Grant, value = randomToken(this.#options.random)): void {
    grant.refresh = { value, grant, issuedAtMs: this.#options.clock.now(), supersededAtMs: undefined };
    this.#refresh.set(value, grant.refresh);
  }

  #isStillValid(supersededAtMs: number, nowMs: number): boolean {
    const rule = this.#options.assumptions().supersededRefreshToken;
    return rule === 'always' || (rule === 'same-day' && this.#isSameDay(supersededAtMs, nowMs));
  }

  #isSameDay(earlierMs: number, laterMs: number): boolean {
    if (this.#options.assumptions().refreshTokenDay === 'rolling') return laterMs - earlierMs < dayMs;
    return Math.floor(earlierMs / dayMs) === Math.floor(laterMs / dayMs);
  }
}

/** Eight hex digits that tell tokens apart without revealing them. */
export function fingerprint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 8);
}

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
}

/** Access and refresh tokens by the rules of partner-api.md §5.3. */
export function createTokenStore(clock: Clock, random: Random, settings: Settings) {
  const accessTokens = new Map<string, AccessToken>();
  /** Every refresh token ever issued; the current one of a grant was never superseded. */
  const refreshTokens = new Map<string, { readonly grant: Grant; readonly supersededAtMs?: number }>();
  const isValid = (token: AccessToken): boolean => !token.grant.revoked && token.expiresAtMs > clock.now();
  const isSameDay = (earlierMs: number, laterMs: number): boolean => {
    if (settings.assumptions.refreshTokenDay === 'rolling') return laterMs - earlierMs < dayMs;
    return Math.floor(earlierMs / dayMs) === Math.floor(laterMs / dayMs);
  };
  return {
    isValid,
    openGrant(user: string | null, scope: string, refreshToken = randomToken(random)): Grant {
      const times = { refreshTokenIssuedAtMs: clock.now(), lastUsedAtMs: clock.now() };
      const grant = { user, scope, access: undefined, refreshToken, ...times, revoked: false };
      refreshTokens.set(refreshToken, { grant });
      return grant;
    },
    /** Every access and refresh token ever issued. */
    issued: (): string[] => [...accessTokens.keys(), ...refreshTokens.keys()],
    /** The user of this refresh token, valid or not. */
    ownerOfRefreshToken: (value: string) => refreshTokens.get(value)?.grant.user,
    /** @returns the access token, even if expired; undefined if it was never issued */
    accessToken: (value: string) => accessTokens.get(value),

    /** @returns the grant to answer with, or undefined: invalid_grant */
    useRefreshToken(value: string): Grant | undefined {
      const { grant, supersededAtMs } = refreshTokens.get(value) ?? {};
      const nowMs = clock.now();
      if (!grant || grant.revoked || nowMs - grant.lastUsedAtMs >= refreshTokenIdleMs) return undefined;
      if (supersededAtMs === undefined) return grant;
      const rule = settings.assumptions.supersededRefreshToken;
      const isUsable = rule === 'always' || (rule === 'same-day' && isSameDay(supersededAtMs, nowMs));
      return isUsable ? grant : undefined;
    },

    /**
     * The pair to answer with: the same access token while it is valid, otherwise a new one; the same refresh token on
     * the day it was issued, otherwise a new one.
     */
    pair(grant: Grant) {
      const nowMs = clock.now();
      grant.lastUsedAtMs = nowMs;
      const refreshTokenIsNew = !isSameDay(grant.refreshTokenIssuedAtMs, nowMs);
      if (refreshTokenIsNew) {
        refreshTokens.set(grant.refreshToken, { grant, supersededAtMs: nowMs });
        grant.refreshToken = randomToken(random);
        grant.refreshTokenIssuedAtMs = nowMs;
        refreshTokens.set(grant.refreshToken, { grant });
      }
      if (grant.access === undefined || !isValid(grant.access)) {
        const expiresAtMs = nowMs + settings.accessTokenLifetimeSeconds * 1000;
        grant.access = { value: randomToken(random), grant, expiresAtMs };
        accessTokens.set(grant.access.value, grant.access);
      }
      return { access: grant.access, refreshToken: grant.refreshToken, refreshTokenIsNew };
    },

    /** Lets access tokens expire now. @param user default: all users. @returns how many were still valid */
    expireAccessTokens(user?: string): number {
      const isOurs = ({ grant }: AccessToken) => user === undefined || grant.user === user;
      const valid = [...accessTokens.values()].filter((token) => isOurs(token) && isValid(token));
      for (const token of valid) token.expiresAtMs = clock.now();
      return valid.length;
    },
    /** Revokes all grants of a user. @returns how many */
    revoke(user: string): number {
      const grants = new Set([...refreshTokens.values()].map(({ grant }) => grant));
      const revoked = [...grants].filter((grant) => grant.user === user && !grant.revoked);
      for (const grant of revoked) grant.revoked = true;
      return revoked.length;
    },
  };
}

/** The scopes in a list separated by spaces or plus signs. @see partner-api.md §5.2, §5.3 */
export function scopeNames(scope: string): string[] {
  return [...new Set(scope.split(/[ +]+/).filter((name) => name !== ''))];
}

/** Whether the granted scope contains every needed one. */
export function covers(granted: string, needed: string): boolean {
  const names = scopeNames(granted);
  return scopeNames(needed).every((name) => names.includes(name));
}

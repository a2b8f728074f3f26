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
  accessToken?: string;
  accessTokenExpiresAtMs: number;
  refreshToken: string;
  refreshTokenIssuedAtMs: number;
  lastUsedAtMs: number;
  revoked: boolean;
}

/** Access and refresh tokens by the rules of partner-api.md §5.3. */
export function createTokenStore(clock: Clock, random: Random, settings: Settings) {
  /** By every access token ever issued. */
  const byAccessToken = new Map<string, Grant>();
  /** By every refresh token ever issued; the current one of a grant was never superseded. */
  const byRefreshToken = new Map<string, { readonly grant: Grant; readonly supersededAtMs?: number }>();
  /** Assumed (§5.3): a day in "at most once a day" is a UTC calendar day. */
  const isSameDay = (earlierMs: number, laterMs: number): boolean =>
    Math.floor(earlierMs / dayMs) === Math.floor(laterMs / dayMs);
  const hasValidAccess = ({ revoked, accessTokenExpiresAtMs }: Grant): boolean =>
    !revoked && accessTokenExpiresAtMs > clock.now();
  return {
    /** Earlier grants of the user stay valid (assumed). */
    openGrant(user: string | null, scope: string, refreshToken = randomToken(random)): Grant {
      const times = {
        accessTokenExpiresAtMs: 0,
        refreshTokenIssuedAtMs: clock.now(),
        lastUsedAtMs: clock.now(),
      };
      const grant: Grant = { user, scope, refreshToken, ...times, revoked: false };
      byRefreshToken.set(refreshToken, { grant });
      return grant;
    },
    /** Every access and refresh token ever issued. */
    issued: (): string[] => [...byAccessToken.keys(), ...byRefreshToken.keys()],
    /** The user of this access or refresh token, valid or not. */
    ownerOf: (token: string) => (byAccessToken.get(token) ?? byRefreshToken.get(token)?.grant)?.user,
    /** The grant of a valid access token. */
    grantOf(accessToken: string): Grant | undefined {
      const grant = byAccessToken.get(accessToken);
      return grant?.accessToken === accessToken && hasValidAccess(grant) ? grant : undefined;
    },

    /** @returns the grant to answer with, or undefined: invalid_grant */
    useRefreshToken(value: string): Grant | undefined {
      const { grant, supersededAtMs } = byRefreshToken.get(value) ?? {};
      const nowMs = clock.now();
      if (!grant || grant.revoked || nowMs - grant.lastUsedAtMs >= refreshTokenIdleMs) return undefined;
      if (supersededAtMs === undefined) return grant;
      if (settings.assumptions.onlyNewestRefreshToken) return undefined;
      // Assumed: a superseded one returns the latest pair for the rest of the day.
      return isSameDay(supersededAtMs, nowMs) ? grant : undefined;
    },

    /**
     * Brings the pair of a grant up to date: the same access token while it is valid, otherwise a new one; the same
     * refresh token on the day it was issued, otherwise a new one (`onlyNewestRefreshToken`: always).
     */
    renew(grant: Grant): Grant & { readonly accessToken: string } {
      const nowMs = clock.now();
      grant.lastUsedAtMs = nowMs;
      if (settings.assumptions.onlyNewestRefreshToken || !isSameDay(grant.refreshTokenIssuedAtMs, nowMs)) {
        byRefreshToken.set(grant.refreshToken, { grant, supersededAtMs: nowMs });
        grant.refreshToken = randomToken(random);
        grant.refreshTokenIssuedAtMs = nowMs;
        byRefreshToken.set(grant.refreshToken, { grant });
      }
      if (grant.accessToken === undefined || !hasValidAccess(grant)) {
        grant.accessToken = randomToken(random);
        grant.accessTokenExpiresAtMs = nowMs + settings.accessTokenLifetimeSeconds * 1000;
        byAccessToken.set(grant.accessToken, grant);
      }
      return { ...grant, accessToken: grant.accessToken };
    },

    /** Lets access tokens expire now. @param user default: all users. @returns how many were still valid */
    expireAccessTokens(user?: string): number {
      const grants = [...new Set(byAccessToken.values())].filter(hasValidAccess);
      const ours = grants.filter((grant) => user === undefined || grant.user === user);
      for (const grant of ours) grant.accessTokenExpiresAtMs = clock.now();
      return ours.length;
    },
    revoke(user: string): number {
      const grants = new Set([...byRefreshToken.values()].map(({ grant }) => grant));
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

export function covers(granted: string, needed: string): boolean {
  const names = scopeNames(granted);
  return scopeNames(needed).every((name) => names.includes(name));
}

/** The token endpoint by the rules of partner-api.md §5.3, with a day as short as the simulation needs. */
import type { Scheduler } from './scheduler.ts';

export interface TokenDeskOptions {
  readonly scheduler: Scheduler;
  readonly tokenLifeMs: number;
  /** Rule 3's day: a new refresh token at most so often, and so long the one before brings the latest again. */
  readonly rotationMs: number;
}

interface Grant {
  readonly account: string;
  isRevoked: boolean;
  access: { readonly text: string; readonly expiresAt: number } | undefined;
  refresh: { readonly text: string; readonly issuedAt: number };
  before: string | undefined;
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export type TokenDesk = ReturnType<typeof createTokenDesk>;

/** Stands in every token, so that one that leaked can be found. */
export const secretMark = 'TOKEN-OF';

export function createTokenDesk({ scheduler, tokenLifeMs, rotationMs }: TokenDeskOptions) {
  const grants: Grant[] = [];
  let issued = 0;
  const fresh = (kind: string, account: string) => `${secretMark}-${account}-${kind}-${++issued}`;

  const isLatestOrJustBefore = ({ refresh, before }: Grant, text: string): boolean =>
    refresh.text === text || (before === text && scheduler.now() - refresh.issuedAt < rotationMs);

  /** The grant that a refresh token still opens. */
  const opened = (text: string): Grant | undefined =>
    grants.find((grant) => !grant.isRevoked && isLatestOrJustBefore(grant, text));

  const latestOf = (account: string): Grant | undefined =>
    grants.findLast((grant) => grant.account === account);

  return {
    /** A user authorizes the application: the refresh token that `connect` is given. */
    authorize(account: string, agedMs = 0): string {
      const refresh = { text: fresh('refresh', account), issuedAt: scheduler.now() - agedMs };
      grants.push({ account, isRevoked: false, access: undefined, refresh, before: undefined });
      return refresh.text;
    },
    /** The user, or the service, takes the authorization back: every grant so far is dead. */
    revoke(account: string): void {
      for (const grant of grants) if (grant.account === account) grant.isRevoked = true;
    },
    isRevoked: (account: string): boolean => latestOf(account)?.isRevoked ?? true,
    opens: (text: string): boolean => opened(text) !== undefined,
    accountOf: (text: string): string | undefined => new RegExp(`^${secretMark}-([^-]+)-`).exec(text)?.[1],
    /** Access tokens stop working before their time. */
    expireAccess(account: string): void {
      for (const grant of grants) if (grant.account === account) grant.access = undefined;
    },
    accepts(account: string, access: string): boolean {
      const now = scheduler.now();
      return grants.some(
        (grant) =>
          grant.account === account &&
          !grant.isRevoked &&
          grant.access?.text === access &&
          grant.access.expiresAt > now,
      );
    },
    refresh(text: string): TokenAnswer {
      const grant = opened(text);
      if (!grant)
        return { status: 400, body: { error: 'invalid_grant', error_description: 'no such token' } };
      const now = scheduler.now();
      if (!grant.access || grant.access.expiresAt <= now) {
        grant.access = { text: fresh('access', grant.account), expiresAt: now + tokenLifeMs };
      }
      if (now - grant.refresh.issuedAt >= rotationMs) {
        grant.before = grant.refresh.text;
        grant.refresh = { text: fresh('refresh', grant.account), issuedAt: now };
      }
      return {
        status: 200,
        body: {
          access_token: grant.access.text,
          expires_in: Math.floor((grant.access.expiresAt - now) / 1000),
          token_type: 'bearer',
          scope: 'v2 read write',
          refresh_token: grant.refresh.text,
        },
      };
    },
  };
}

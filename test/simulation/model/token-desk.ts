/** The token endpoint with the rules of partner-api.md §5.3; its day is shortened for the simulation. */
import type { Scheduler } from './scheduler.ts';

export interface TokenDeskOptions {
  readonly scheduler: Scheduler;
  readonly tokenLifeMs: number;
  /**
   * The day of rule 3: how often a new refresh token is issued, and how long the previous one still returns the
   * latest pair.
   */
  readonly rotationMs: number;
  /** The month of rule 4: a refresh token that was unused for this long is dead. */
  readonly idleMs: number;
  /** Assumed: each refresh returns a new refresh token, and only the newest one is taken. Default false. */
  readonly onlyNewest?: boolean;
}

interface Grant {
  readonly account: string;
  isRevoked: boolean;
  scope: string;
  usedAt: number;
  access: { readonly text: string; readonly expiresAt: number } | undefined;
  refresh: { readonly text: string; readonly issuedAt: number };
  before: string | undefined;
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Part of every token, so that a leaked token can be found. */
export const secretMark = 'TOKEN-OF';

const wholeScope = 'v2 read write';
const refused: TokenAnswer = {
  status: 400,
  body: { error: 'invalid_grant', error_description: 'no such token' },
};

export function createTokenDesk(options: TokenDeskOptions) {
  const { scheduler, tokenLifeMs, rotationMs, idleMs, onlyNewest = false } = options;
  const grants: Grant[] = [];
  /** Access tokens that ended before their time, with that moment. */
  const ended = new Map<string, number>();
  /** Unused one-time codes, with their accounts. */
  const codes = new Map<string, string>();
  let issued = 0;
  const fresh = (kind: string, account: string) => `${secretMark}-${account}-${kind}-${++issued}`;

  const isLatestOrJustBefore = ({ refresh, before }: Grant, text: string): boolean =>
    refresh.text === text ||
    (!onlyNewest && before === text && scheduler.now() - refresh.issuedAt < rotationMs);

  /** The grant for which a refresh token is still valid. */
  const opened = (text: string): Grant | undefined =>
    grants.find(
      (grant) =>
        !grant.isRevoked && scheduler.now() - grant.usedAt < idleMs && isLatestOrJustBefore(grant, text),
    );

  const latestOf = (account: string): Grant | undefined =>
    grants.findLast((grant) => grant.account === account);

  function grantTo(account: string, agedMs = 0): Grant {
    const usedAt = scheduler.now();
    const refresh = { text: fresh('refresh', account), issuedAt: usedAt - agedMs };
    const whole = { isRevoked: false, scope: wholeScope, access: undefined, before: undefined };
    const grant: Grant = { account, usedAt, refresh, ...whole };
    grants.push(grant);
    return grant;
  }

  function pairOf(grant: Grant): TokenAnswer {
    const now = scheduler.now();
    grant.usedAt = now;
    if (!grant.access || grant.access.expiresAt <= now) {
      grant.access = { text: fresh('access', grant.account), expiresAt: now + tokenLifeMs };
    }
    if (onlyNewest || now - grant.refresh.issuedAt >= rotationMs) {
      grant.before = grant.refresh.text;
      grant.refresh = { text: fresh('refresh', grant.account), issuedAt: now };
    }
    return {
      status: 200,
      body: {
        access_token: grant.access.text,
        expires_in: Math.floor((grant.access.expiresAt - now) / 1000),
        token_type: 'bearer',
        scope: grant.scope,
        refresh_token: grant.refresh.text,
      },
    };
  }

  return {
    /** A user authorizes the application. @returns the refresh token for `connect` */
    authorize: (account: string, agedMs = 0): string => grantTo(account, agedMs).refresh.text,
    /** The same in the browser: a code that can be exchanged once. */
    code(account: string): string {
      const text = fresh('code', account);
      codes.set(text, account);
      return text;
    },
    exchange(code: string): TokenAnswer {
      const account = codes.get(code);
      codes.delete(code);
      return account === undefined ? refused : pairOf(grantTo(account));
    },
    /** Whether the user's latest authorization is valid, with its full scope. */
    isWhole(account: string): boolean {
      const grant = latestOf(account);
      return grant !== undefined && !grant.isRevoked && grant.scope === wholeScope;
    },
    /** The user revokes a part of the authorization. */
    narrow(account: string): void {
      for (const grant of grants) if (grant.account === account) grant.scope = 'v2 read';
    },
    /** Whether the scope of this access token is sufficient for the bridge's requests. */
    suffices: (access: string): boolean =>
      grants.find((grant) => grant.access?.text === access)?.scope === wholeScope,
    /** The user or the service revokes the authorization: every grant so far is dead. */
    revoke(account: string): void {
      for (const grant of grants) if (grant.account === account) grant.isRevoked = true;
    },
    /** The service no longer accepts the account's access token; a refresh returns another one. */
    end(account: string): void {
      for (const grant of grants) {
        if (grant.account !== account || !grant.access) continue;
        ended.set(grant.access.text, scheduler.now());
        grant.access = undefined;
      }
    },
    endedAt: (access: string): number | undefined => ended.get(access),
    isRevoked: (account: string): boolean => latestOf(account)?.isRevoked ?? true,
    opens: (text: string): boolean => opened(text) !== undefined,
    accountOf: (text: string): string | undefined => new RegExp(`^${secretMark}-([^-]+)-`).exec(text)?.[1],
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
      return grant ? pairOf(grant) : refused;
    },
  };
}

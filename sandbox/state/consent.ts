import type { Clock } from './clock.ts';
import { type Random, randomToken } from './random.ts';

/** An authorization request that passed every check and waits for the user's decision. */
export interface PendingConsent {
  readonly scope: string;
  readonly redirectUri: string;
  /** Whether redirect_uri was sent, which makes it mandatory in the token request. */
  readonly redirectUriWasSent: boolean;
  readonly state: string | undefined;
}

export interface IssuedCode {
  readonly user: string;
  readonly scope: string;
  /** The redirect_uri that the token request must repeat; undefined: none. */
  readonly redirectUri: string | undefined;
  readonly issuedAtMs: number;
}

/** Whether a person is asked, or the sandbox answers immediately for a user (for runs without a browser). */
export type ConsentMode = { mode: 'ask' } | { mode: 'allow'; user?: string } | { mode: 'deny' };

export interface ConsentDesk {
  mode: ConsentMode;
  /** @returns the ID that the form sends back, valid for one decision */
  open(pending: PendingConsent): string;
  take(id: string): PendingConsent | undefined;
  issueCode(user: string, scope: string, redirectUri: string | undefined): string;
  /** Returns a code's data once. @returns undefined if the code is unknown or already used */
  takeCode(code: string): IssuedCode | undefined;
}

/** Maximum number of open pages; older unanswered ones are deleted. */
const maxPending = 1000;

export function createConsentDesk(clock: Clock, random: Random): ConsentDesk {
  const pending = new Map<string, PendingConsent>();
  const codes = new Map<string, IssuedCode>();
  return {
    mode: { mode: 'ask' },
    open: (request) => {
      const id = randomToken(random);
      pending.set(id, request);
      for (const oldest of pending.keys()) {
        if (pending.size <= maxPending) break;
        pending.delete(oldest);
      }
      return id;
    },
    take: (id) => {
      const request = pending.get(id);
      pending.delete(id);
      return request;
    },
    issueCode: (user, scope, redirectUri) => {
      const code = randomToken(random);
      codes.set(code, { user, scope, redirectUri, issuedAtMs: clock.now() });
      return code;
    },
    takeCode: (code) => {
      const issued = codes.get(code);
      codes.delete(code);
      return issued;
    },
  };
}

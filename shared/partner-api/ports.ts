/** What the client needs from the world: the rate budget's shared state, and somebody who can refresh a token. */
import type { Secret } from '../domain/text/secret.ts';

export type PauseReason = 'slow-down' | 'circuit';

/** One shared item for the whole bridge. */
export interface BudgetState {
  /** The next instant at which a request may start, ms since 1970. */
  readonly nextSlotMs: number;
  /** Nobody sends before this; 0 when nothing was asked for. */
  readonly pausedUntilMs: number;
  /** `circuit`: after the pause only one request goes through, as a trial, until one succeeds. */
  readonly pauseReason?: PauseReason;
  /** The resource that last answered 403 without a known code, with no success since. */
  readonly suspect?: string;
}

export interface SlotRequest {
  readonly count: number;
  readonly intervalMs: number;
  readonly nowMs: number;
  /** How long everyone else waits for the outcome of a trial. */
  readonly trialMs: number;
  /** The second request of a trial: granted although the trial's own pause lasts, which begins anew. */
  readonly followsTrial?: boolean;
}

export interface Reservation {
  /** `count`; 1 for the trial after a circuit pause; 0 while paused. */
  readonly granted: number;
  readonly firstSlotMs: number;
  /** As it is after the reservation. */
  readonly state: BudgetState;
}

/** Every method is atomic over all functions and processes; the rules are in budget-state.ts. */
export interface BudgetStore {
  read(): Promise<BudgetState>;
  reserve(request: SlotRequest): Promise<Reservation>;
  /** Never shortens a pause. */
  pause(untilMs: number, reason: PauseReason): Promise<void>;
  /** Notes who answered 403. @returns the state before */
  suspect(resource: string): Promise<BudgetState>;
  /** After a success: no suspect, no circuit. */
  recover(): Promise<void>;
}

export interface AccessToken {
  readonly token: Secret;
  /** Version of the secret it came from. */
  readonly version: string;
}

/**
 * Why a token is handed back: it has run out by the bridge's clock (`expired`), or the service would not take it. The
 * two clocks differ, so an expired one may be good for a moment more, and come back from a refresh.
 */
export const rejections = ['expired', 'token-rejected', 'scope-insufficient'] as const;
export type Rejection = (typeof rejections)[number];

/** Access tokens of partner accounts, refreshed when they have run out. A token belongs to one generation of its account. */
export interface TokenSource {
  /**
   * @param generation of the cursor or message that the token is for
   * @throws {PartnerFault} `generation-over`, `account-stopped`, `account-paused`, `paused`, or a passing one
   */
  current(partnerAccount: string, generation: number, deadlineMs: number): Promise<AccessToken>;
  /** A token other than the one of version `rejected`. Callers side by side share one refresh. @throws as above */
  renewed(
    partnerAccount: string,
    generation: number,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<AccessToken>;
  /** For a request with the token of `version`, which may wait long for its turn. To be released when it has ended. */
  guard(partnerAccount: string, generation: number, version: string): TokenGuard;
}

export interface TokenGuard {
  /**
   * To be called in the moment the request is sent.
   *
   * @returns undefined: it may be sent now; else it has to wait for this, and to ask again in its next turn
   * @throws {PartnerFault} when the token is not to be used any more: `token-rejected` when another one has taken its
   * place, `generation-over`, `account-stopped`
   */
  beforeSend(): Promise<unknown> | undefined;
  release(): void;
}

/** Asks the refresh-token stage to do its work: by Lambda on AWS, by a call elsewhere. */
export interface RefreshRequester {
  /** Resolves when the stage has ended its try, whatever came of it: the caller reads the token again. */
  refresh(
    partnerAccount: string,
    rejectedVersion: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<RefreshOutcome>;
}

export type RefreshOutcome =
  /** A newer version is stored (by this try or by another). */
  | { readonly kind: 'renewed' }
  /** Somebody else is at it: look again after a moment. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'paused'; readonly untilMs: number; readonly reason: string }
  | { readonly kind: 'stopped'; readonly reason: string }
  /** A passing fault, or the application's own. */
  | { readonly kind: 'failed'; readonly fault: string; readonly reason: string };

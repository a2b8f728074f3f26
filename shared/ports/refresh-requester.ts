import type { Rejection } from './token-source.ts';

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

import type { RefreshOutcome, RefreshRequest } from '../contract/refresh-token.ts';

/** Requests a refresh from the refresh-token stage: by invoking its Lambda function on AWS, by a function call elsewhere. */
export interface RefreshRequester {
  /** Resolves when the stage has finished its attempt, with whatever result: the caller reads the token again. */
  refresh(request: RefreshRequest, options: { readonly deadlineMs: number }): Promise<RefreshOutcome>;
}

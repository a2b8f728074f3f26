import type { RefreshOutcome, RefreshRequest } from '../contract/refresh-token.ts';

/** Asks the refresh-token stage to do its work: by Lambda on AWS, by a call elsewhere. */
export interface RefreshRequester {
  /** Resolves when the stage has ended its try, whatever came of it: the caller reads the token again. */
  refresh(request: RefreshRequest, options: { readonly deadlineMs: number }): Promise<RefreshOutcome>;
}

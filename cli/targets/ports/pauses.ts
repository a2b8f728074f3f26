import type { PausePorts } from '../../../operations/pause.ts';
import type { PollAnswer } from '../../../shared/contract/poll.ts';
import type { PartnerAccounts } from '../../../shared/state/partner-accounts.ts';

/** What `pause` and `resume` need from a bridge of any kind. */
export interface Pauses extends PausePorts {
  /** The operator: on a stack the caller's ARN, for an embedded bridge the user of this machine. */
  readonly who: () => Promise<string>;
}

/** What `poll` needs from a bridge. */
export interface Polls {
  readonly accounts: Pick<PartnerAccounts, 'list'>;
  /**
   * Polls the feeds once.
   *
   * @param only this partner account; default: all
   */
  readonly poll: (only: string | undefined) => Promise<PollAnswer>;
  /** Whether a consumer is currently taking messages from the queue. */
  readonly isDelivering: () => boolean;
}

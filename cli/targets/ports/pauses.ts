import type { PausePorts } from '../../../operations/pause.ts';
import type { PollAnswer } from '../../../shared/contract/poll.ts';
import type { PartnerAccounts } from '../../../shared/ports/partner-accounts.ts';

/** What `pause` and `resume` ask of a bridge, whichever kind it is. */
export interface Pauses extends PausePorts {
  /** Who is at the keyboard: on a stack the caller's ARN, for an embedded bridge the user of this machine. */
  readonly who: () => Promise<string>;
}

/** What `poll` asks of a bridge. */
export interface Polls {
  readonly accounts: Pick<PartnerAccounts, 'list'>;
  /** Asks the feeds once. @param only of this partner account; default: of all */
  readonly poll: (only: string | undefined) => Promise<PollAnswer>;
  /** Whether something takes messages from the queue now. */
  readonly isDelivering: () => boolean;
}

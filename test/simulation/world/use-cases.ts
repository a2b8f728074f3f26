import { createConnect } from '../../../functions/connect/connect.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { pollFeed } from '../../../functions/drain/poll-feed.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import { audit } from '../../../operations/audit.ts';
import { readHistory } from '../../../operations/history.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';

/** The code under test; a planted fault supplies its own. */
export type UseCases = typeof realUseCases;

/** The bridge without planted faults. */
export const realUseCases = {
  createDrain,
  pollFeed,
  createFanOut,
  createConnect,
  createRefreshToken,
  createPartnerService,
  createFeedStates,
  readHistory,
  audit,
};

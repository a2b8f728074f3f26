import { createConnect } from '../../../functions/connect/connect.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { pollFeed } from '../../../functions/drain/poll-feed.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import { audit } from '../../../operations/audit.ts';
import { readHistory } from '../../../operations/history.ts';
import { createPartnerClient } from '../../../shared/partner-api/client.ts';
import { createHoldKeeper } from '../../../shared/partner-api/holds/hold-keeper.ts';
import { createRateLimiter } from '../../../shared/partner-api/rate-limit/rate-limiter.ts';
import { createPartnerReaders } from '../../../shared/partner-api/readers.ts';
import { createTokenSource } from '../../../shared/partner-api/tokens/token-source.ts';
import type { UseCases } from './stages.ts';

/** The bridge without planted faults. */
export const realUseCases: UseCases = {
  createDrain,
  pollFeed,
  createFanOut,
  createConnect,
  createRefreshToken,
  createHoldKeeper,
  createRateLimiter,
  createPartnerClient,
  createPartnerReaders,
  createTokenSource,
  readHistory,
  audit,
};

import { functionConfig } from '../../shared/runtime/config.ts';
import { withRuntime } from '../../shared/runtime/middleware.ts';
import { tokenDeps } from '../../shared/runtime/partner.ts';
import { stateOf } from '../../shared/runtime/state.ts';
import { answerRefreshToken, createRefreshToken } from './refresh-token.ts';

const config = functionConfig('refreshToken');
const stage = createRefreshToken(tokenDeps(config, stateOf(config)));

/** Sweeps on schedule, and refreshes a partner account's token on request of drain or fan-out; nothing else. */
export const handler = withRuntime('refresh-token', (event: unknown, options) =>
  answerRefreshToken(stage, event, options),
);

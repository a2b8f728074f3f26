import { functionConfig } from '../runtime/config.ts';
import { tokenDeps } from '../runtime/deps.ts';
import { withRuntime } from '../runtime/middleware.ts';
import { answerRefreshToken, createRefreshToken } from './refresh-token.ts';

const config = functionConfig('refreshToken');
const stage = createRefreshToken(tokenDeps(config));

/** Sweeps on schedule, and refreshes a partner account's token on request of drain or fan-out; nothing else. */
export const handler = withRuntime('refresh-token', (event: unknown, options) =>
  answerRefreshToken(stage, event, options),
);

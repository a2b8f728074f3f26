import { readBooks } from '../../shared/state/books.ts';
import { functionConfig } from '../runtime/config.ts';
import { tokenDeps } from '../runtime/deps.ts';
import { withRuntime } from '../runtime/middleware.ts';
import { answerConnect, createConnect } from './connect.ts';

const config = functionConfig('connect');
const deps = tokenDeps(config, config.partnerSecretPolicy, config.partnerSecretKey);
const stage = createConnect({
  ...deps,
  bookKeeper: { read: (name, generation) => readBooks(deps.store, name, generation) },
});

/** Carries out operators' commands for the application and for partner accounts. */
export const handler = withRuntime('connect', (event: unknown, options) =>
  answerConnect(stage, event, options),
);

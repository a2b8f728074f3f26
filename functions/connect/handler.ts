import { functionConfig } from '../../shared/runtime/config.ts';
import { withRuntime } from '../../shared/runtime/middleware.ts';
import { tokenDeps } from '../../shared/runtime/partner.ts';
import { stateOf } from '../../shared/runtime/state.ts';
import { readBooks } from '../../shared/state/books.ts';
import { answerConnect, createConnect } from './connect.ts';

const config = functionConfig('connect');
const state = stateOf(config);
const stage = createConnect({
  ...{ ...state, ...tokenDeps(config, state, config.partnerSecretPolicy, config.partnerSecretKey) },
  bookKeeper: { read: (name, generation) => readBooks(state.store, name, generation) },
});

/** Carries out operators' commands for the application and for partner accounts. */
export const handler = withRuntime('connect', (event: unknown, options) =>
  answerConnect(stage, event, options),
);

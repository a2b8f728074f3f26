import type { ConsentPage, TokenEndpoint } from '../../shared/ports/token-endpoint.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { type ApplicationDeps, createApplicationTasks } from './application.ts';
import { type ConnectAccountDeps, createConnectAccount } from './connect-account.ts';
import { createDisconnect, type DisconnectDeps } from './disconnect-account.ts';

export type ConnectDeps = ApplicationDeps & ConnectAccountDeps & DisconnectDeps;
export type Connect = ReturnType<typeof createConnect>;

/** All operators' commands for credentials: those of the application and of partner accounts. */
export const createConnect = (deps: ConnectDeps) => ({
  ...createApplicationTasks(deps),
  ...createConnectAccount(deps),
  ...createDisconnect(deps),
});

/** The stores of a bridge, under the names that every kind of bridge uses. */
export interface ConnectState {
  readonly partnerAccounts: PartnerAccounts;
  readonly feedStates: ConnectDeps['feedStates'];
  readonly vault: ConnectDeps['vault'];
  readonly applicationSecret: ConnectDeps['application'];
  readonly advertHistories: ConnectDeps['knownAdverts'];
  readonly bookKeeper: ConnectDeps['bookKeeper'];
}

/** Builds the ports of {@link createConnect} from a bridge's stores and its client of the partner service. */
export const connectPorts = (
  { partnerAccounts, feedStates, vault, applicationSecret, advertHistories, bookKeeper }: ConnectState,
  client: TokenEndpoint & ConsentPage & ConnectDeps['feedProbe'],
) => ({
  accounts: partnerAccounts,
  feedStates,
  vault,
  application: applicationSecret,
  knownAdverts: advertHistories,
  bookKeeper,
  endpoint: client,
  consentPage: client,
  feedProbe: client,
});

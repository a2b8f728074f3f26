import { systemClock } from '../domain/clock.ts';
import type { RefreshRequester, TokenVault } from '../ports/tokens.ts';
import type { PartnerAccounts } from '../state/partner-accounts.ts';
import { createCachedAccounts } from './cached-rows.ts';
import { createGates, createPartnerClient, type PartnerClientOptions } from './client.ts';
import { createTokenSource } from './token-source.ts';

interface PartnerServiceOptions extends PartnerClientOptions {
  readonly partnerAccounts: Pick<PartnerAccounts, 'list' | 'read' | 'change'>;
  readonly tokenReader: Pick<TokenVault, 'read'>;
  readonly requester: RefreshRequester;
}

/**
 * The client with the tokens of known partner accounts, which are renewed when they expire; one per process.
 * @returns also `partnerAccounts`: the cached rows, to use instead of the given port
 */
export function createPartnerService(options: PartnerServiceOptions) {
  const { tokenReader: reader, requester, clock = systemClock } = options;
  const partnerAccounts = createCachedAccounts(options.partnerAccounts, clock);
  const gates = createGates(options, partnerAccounts);
  const tokens = createTokenSource({ reader, requester, partnerAccounts, holds: gates.holds, clock });
  return { ...createPartnerClient(options, gates, tokens), partnerAccounts };
}

import type { PartnerAccounts } from '../../../shared/state/partner-accounts.ts';

/** Watches the events that a bridge publishes. */
export interface EventTail {
  readonly accounts: Pick<PartnerAccounts, 'list'>;
  /**
   * Yields envelopes in the order of arrival, from now until `signal` is aborted.
   *
   * @param name of one partner account; undefined: all
   * @param say prints information that is not in the events
   */
  events(
    name: string | undefined,
    options: { readonly signal: AbortSignal; readonly say: (text: string) => void },
  ): AsyncGenerator<readonly string[]>;
}

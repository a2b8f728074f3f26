import type { PartnerAccounts } from '../../../shared/ports/partner-accounts.ts';

/** Watches what a bridge publishes. */
export interface EventTail {
  readonly accounts: Pick<PartnerAccounts, 'list'>;
  /**
   * Envelopes in the order in which they come, from now on until `signal` is aborted.
   *
   * @param name of one partner account; undefined: of all
   * @param say tells a person what the events do not
   */
  events(
    name: string | undefined,
    options: { readonly signal: AbortSignal; readonly say: (text: string) => void },
  ): AsyncGenerator<readonly string[]>;
}

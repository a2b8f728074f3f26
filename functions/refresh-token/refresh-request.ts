import type { RefreshRequest, Rejection } from '../../shared/contract/refresh-token.ts';
import type { ApplicationSecret } from '../../shared/ports/application-secret.ts';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { TokenEndpoint } from '../../shared/ports/token-endpoint.ts';
import type { TokenVault } from '../../shared/ports/token-vault.ts';
import type { LockDeps } from './refresh-lock.ts';

export interface RefreshDeps extends LockDeps {
  readonly vault: Pick<TokenVault, 'read' | 'write'>;
  readonly application: ApplicationSecret;
  readonly endpoint: TokenEndpoint;
  readonly events: EventPublisher;
  readonly observer: Observer;
  readonly random: () => number;
  readonly settings: LockDeps['settings'] & { readonly requiredScope: string };
}

/** What the stage asks of itself, too. */
export interface TokenRefresh extends Omit<RefreshRequest, 'because'> {
  /**
   * `unused`: nothing is wrong with the token, but its refresh token has to be used so that it lives on. `stopped`: it is
   * dead, but somebody may have put another one into the secret by hand.
   */
  readonly because: Rejection | 'unused' | 'stopped';
}

export interface CallOptions {
  /** Milliseconds since 1970: nothing is begun after it. */
  readonly deadlineMs: number;
}

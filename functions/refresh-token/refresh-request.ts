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
  readonly settings: LockDeps['settings'] & {
    readonly requiredScope: string;
    /** Name of the bridge, for its events. */
    readonly bridge: string;
  };
}

/** A request for a refresh, with the reasons that only the sweep uses. */
export interface TokenRefresh extends Omit<RefreshRequest, 'because'> {
  /** `unused`: the token is valid, but its refresh token must be used so that it does not expire. */
  readonly because: Rejection | 'unused';
}

export interface CallOptions {
  /** Milliseconds since 1970: no work begins after this moment. */
  readonly deadlineMs: number;
}

import type { Clock } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { Application } from '../../shared/domain/secret.ts';
import type { ApplicationSecret, Grant, ReceivedTokens, TokenEndpoint } from '../../shared/ports/tokens.ts';

export interface TokenRequestDeps {
  readonly application: ApplicationSecret;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
}

/** Cached, so that the tokens of a thousand partner accounts are refreshed with one read of the secret. */
const maxAgeMs = 5 * 60_000;

/**
 * Requests with the application's credentials. If the service rejects these, they are read again, and the request is
 * repeated if they have changed: a rotation needs no restart and causes no failure.
 */
export function createTokenRequests({ application, endpoint, clock }: TokenRequestDeps) {
  let cached: { readonly credentials: Application; readonly readAt: number } | undefined;

  async function read(): Promise<Application> {
    const readAt = clock.now();
    const credentials = await application.read();
    cached = { credentials, readAt };
    return credentials;
  }

  /** @throws {BridgeFault} `client-rejected` only if the service rejects the currently stored credentials */
  return async (grant: Grant, options: { readonly deadlineMs: number }): Promise<ReceivedTokens> => {
    const isFresh = cached && clock.now() - cached.readAt < maxAgeMs;
    const used = cached && isFresh ? cached.credentials : await read();
    try {
      return await endpoint.requestTokens(used, grant, options);
    } catch (error) {
      if (!(error instanceof BridgeFault) || error.code !== 'client-rejected') throw error;
      const { clientId, clientSecret } = await read();
      if (clientId.equals(used.clientId) && clientSecret.equals(used.clientSecret)) throw error;
      return endpoint.requestTokens({ clientId, clientSecret }, grant, options);
    }
  };
}

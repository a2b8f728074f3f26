/** Sends token requests with the application's credentials, which may be replaced at any time. */
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
 * Sends requests to the token endpoint with the application's credentials, which are cached for five minutes. If the
 * service rejects them, they are read again at once, and the request is repeated if they have changed. A rotation
 * therefore needs no restart and causes no failure.
 */
export function createTokenRequests({ application, endpoint, clock }: TokenRequestDeps) {
  let kept: { readonly credentials: Promise<Application>; readonly readAt: number } | undefined;

  function read(): Promise<Application> {
    const credentials = application.read();
    const reading = { credentials, readAt: clock.now() };
    kept = reading;
    credentials.catch(() => {
      if (kept === reading) kept = undefined;
    });
    return credentials;
  }

  const current = (): Promise<Application> =>
    kept && clock.now() - kept.readAt < maxAgeMs ? kept.credentials : read();

  /**
   * @throws {BridgeFault} as for the endpoint; `client-rejected` only if the service rejects the currently stored
   * credentials
   */
  return async (grant: Grant, options: { readonly deadlineMs: number }): Promise<ReceivedTokens> => {
    const used = await current();
    try {
      return await endpoint.requestTokens(used, grant, options);
    } catch (error) {
      if (!(error instanceof BridgeFault) || error.code !== 'client-rejected') throw error;
      const stored = await read();
      if (isSame(stored, used)) throw error;
      return endpoint.requestTokens(stored, grant, options);
    }
  };
}

const isSame = (a: Application, b: Application): boolean =>
  a.clientId.equals(b.clientId) && a.clientSecret.equals(b.clientSecret);

import { BridgeFault } from '../../shared/domain/faults.ts';
import type { Application } from '../../shared/domain/secret.ts';
import type { Grant, ReceivedTokens } from '../../shared/ports/tokens.ts';
import type { CallOptions, RefreshDeps } from './refresh-lock.ts';

/** Cached, so that the tokens of a thousand partner accounts are refreshed with one read of the secret. */
const maxAgeMs = 5 * 60_000;

/**
 * Requests with the application's credentials. If the service rejects these, they are read again, and the request is
 * repeated if they have changed: a rotation needs no restart and causes no failure.
 */
export function createTokenRequests({
  applicationSecret,
  client,
  clock,
}: Pick<RefreshDeps, 'applicationSecret' | 'client' | 'clock'>) {
  let cached: { readonly credentials: Application; readonly readAt: number } | undefined;

  async function read(): Promise<Application> {
    const readAt = clock.now();
    const credentials = await applicationSecret.read();
    cached = { credentials, readAt };
    return credentials;
  }

  /** @throws {BridgeFault} `client-rejected` only if the service rejects the currently stored credentials */
  return async (grant: Grant, options: CallOptions): Promise<ReceivedTokens> => {
    const isFresh = cached && clock.now() - cached.readAt < maxAgeMs;
    const used = cached && isFresh ? cached.credentials : await read();
    try {
      return await client.requestTokens(used, grant, options);
    } catch (error) {
      if (!(error instanceof BridgeFault) || error.code !== 'client-rejected') throw error;
      const { clientId, clientSecret } = await read();
      if (clientId.equals(used.clientId) && clientSecret.equals(used.clientSecret)) throw error;
      return client.requestTokens({ clientId, clientSecret }, grant, options);
    }
  };
}

/** Converts secrets to the stored JSON text and back: the shapes of shared/contract/secrets.ts. */
import { checkedJson } from '../contract/checks.ts';
import { applicationSecret, type PartnerAccountSecret, partnerAccountSecret } from '../contract/secrets.ts';
import { toInstant } from './clock.ts';
import { Secret } from './secret.ts';
import type { StoredPair } from './token-pair.ts';

export function textOfPair(pair: StoredPair): string {
  const stored: PartnerAccountSecret = {
    accessToken: pair.accessToken.reveal(),
    refreshToken: pair.refreshToken.reveal(),
    scope: pair.scope,
    expiresAt: toInstant(pair.expiresAt),
    obtainedAt: toInstant(pair.obtainedAt),
    generation: pair.generation,
    ...(pair.follows !== undefined && { follows: pair.follows }),
  };
  return JSON.stringify(stored);
}

/**
 * @param name name of the secret
 * @throws {ShapeError} naming the secret and the fault
 */
export function pairOfText(text: string, name: string): StoredPair {
  const stored = checkedJson(partnerAccountSecret, text, `secret ${name}`);
  return {
    accessToken: new Secret(stored.accessToken),
    refreshToken: new Secret(stored.refreshToken),
    scope: stored.scope,
    expiresAt: Date.parse(stored.expiresAt),
    obtainedAt: Date.parse(stored.obtainedAt),
    generation: stored.generation,
    ...(stored.follows !== undefined && { follows: stored.follows }),
  };
}

/** The credentials that identify the bridge to the partner service. */
export interface Application {
  readonly clientId: Secret;
  readonly clientSecret: Secret;
}

export const textOfApplication = ({ clientId, clientSecret }: Application): string =>
  JSON.stringify({ clientId: clientId.reveal(), clientSecret: clientSecret.reveal() });

/**
 * @param name name of the secret
 * @throws {ShapeError} also for the empty text of a secret that is not filled in yet
 */
export function applicationOfText(text: string, name: string): Application {
  const stored = checkedJson(applicationSecret, text, `secret ${name}`);
  return { clientId: new Secret(stored.clientId), clientSecret: new Secret(stored.clientSecret) };
}

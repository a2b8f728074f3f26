/**
 * The client-credentials grant (partner-api.md §5.3): a token of the application itself, which acts for no user. The
 * document has it for configuration data, whose paths it does not show (§4.8); adverts cannot be reached with it in the
 * bridge, for it is kept nowhere. What it is good for today is to tell whether the application's credentials are right.
 */
import type { TokenRequestDeps } from './token-requests.ts';
import { createTokenRequests } from './token-requests.ts';
import { scopeTold } from './tokens.ts';

export interface ClientCheckDeps extends TokenRequestDeps {
  readonly settings: { readonly requiredScope: string };
}

/** What the service grants to the application, space separated; empty where it does not tell. */
export interface AcceptedClient {
  readonly scope: string;
}

export function createClientCheck(deps: ClientCheckDeps) {
  const requestTokens = createTokenRequests(deps);

  /** @throws {PartnerError} `client-rejected`, `scope-refused`, or a passing one */
  async function check(options: { readonly deadlineMs: number }): Promise<AcceptedClient> {
    const grant = { type: 'client_credentials', scope: deps.settings.requiredScope } as const;
    return { scope: scopeTold(await requestTokens(grant, options)) };
  }

  return { check };
}

/** What operators ask for that concerns the application, whose credentials stand in its secret. */
import type { AcceptedApplication } from '../../shared/contract/connect.ts';
import type { ConsentPage } from '../../shared/ports/token-endpoint.ts';
import { createTokenRequests, type TokenRequestDeps } from '../refresh-token/token-requests.ts';
import { grantedScope } from '../refresh-token/tokens.ts';

export interface ApplicationDeps extends TokenRequestDeps {
  readonly consentPage: ConsentPage;
  readonly settings: { readonly requiredScope: string };
}

export function createApplicationTasks(deps: ApplicationDeps) {
  const { requiredScope: scope } = deps.settings;
  return {
    /**
     * Where a user is sent to authorize the application: the first half of the authorization-code flow. The second is
     * `connect`. Nothing is requested or stored.
     *
     * @param request.state random; the service returns it unchanged
     * @throws {ShapeError} when the application's credentials are not filled in yet
     * @see partner-api.md §5.3, authorization_code rules 2 to 4
     */
    async authorize(request: {
      readonly state: string;
      readonly redirectUri: string;
    }): Promise<{ url: string }> {
      const { clientId } = await deps.application.read();
      const { state, redirectUri } = request;
      return { url: deps.consentPage.authorizeUrl({ clientId, scope, state, redirectUri }) };
    },

    /**
     * Whether the service accepts the application's credentials, told by a token of the application itself. That token
     * acts for no user and is kept nowhere: what the document has it for, configuration data (§4.8), has no paths in it.
     *
     * @returns `scope`: what the service grants to the application, space separated, empty where it does not tell;
     *   `clockOffSeconds`: how far the service's clock is ahead of the bridge's, absent where it does not tell
     * @throws {PartnerError} `client-rejected`, `scope-refused`, or a transient one
     * @see partner-api.md §5.3, client_credentials
     */
    async check(options: { readonly deadlineMs: number }): Promise<AcceptedApplication> {
      // Made anew, so that the credentials are read anew: those kept from before may have been replaced since.
      const requestTokens = createTokenRequests(deps);
      const received = await requestTokens({ type: 'client_credentials', scope }, options);
      const { claimedTime, receivedAt } = received;
      const clock =
        claimedTime === undefined ? {} : { clockOffSeconds: Math.round((claimedTime - receivedAt) / 1000) };
      return { scope: grantedScope(received), ...clock };
    },
  };
}

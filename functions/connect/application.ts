/** Operators' commands for the application, whose credentials are stored in its secret. */
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
     * Returns the address where a user authorizes the application: the first half of the authorization-code flow
     * (`connect` is the second). Sends no request and stores nothing.
     *
     * @param request.state random; the service returns it unchanged
     * @throws {ShapeError} when the application's credentials are not stored yet
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
     * Checks whether the service accepts the application's credentials, by requesting a token for the application
     * itself. This token acts for no user and is not stored: its documented use is configuration data (§4.8), for which
     * the document shows no paths.
     *
     * @returns `scope`: the scope granted to the application, separated by spaces, empty if the answer has none;
     * `clockOffSeconds`: how far the service's clock is ahead of the bridge's, absent if the answer has no date
     * @throws {PartnerError} `client-rejected`, `scope-refused`, or a transient one
     * @see partner-api.md §5.3, client_credentials
     */
    async check(options: { readonly deadlineMs: number }): Promise<AcceptedApplication> {
      // A new instance, so that the credentials are read again: cached ones may have been replaced.
      const requestTokens = createTokenRequests(deps);
      const received = await requestTokens({ type: 'client_credentials', scope }, options);
      const { claimedTime, receivedAt } = received;
      const clock =
        claimedTime === undefined ? {} : { clockOffSeconds: Math.round((claimedTime - receivedAt) / 1000) };
      return { scope: grantedScope(received), ...clock };
    },
  };
}

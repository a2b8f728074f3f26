import type { ApplicationSecret } from '../../shared/ports/application-secret.ts';
import type { ConsentPage } from '../../shared/ports/token-endpoint.ts';

export interface AuthorizeDeps {
  readonly application: ApplicationSecret;
  readonly consentPage: ConsentPage;
  readonly settings: { readonly requiredScope: string };
}

export interface AuthorizeRequest {
  /** Random; the service returns it unchanged. */
  readonly state: string;
  readonly redirectUri: string;
}

/**
 * Where a user is sent to authorize the application: the first half of the authorization-code flow, `connect` is the
 * second. Asked of this stage, for it knows the client ID, the base URL and the scope; nothing is requested or stored.
 *
 * @see partner-api.md §5.3, authorization_code rules 2 to 4
 */
export function createAuthorize({ application, consentPage, settings }: AuthorizeDeps) {
  return {
    /** @throws {ShapeError} when the application's credentials are not filled in yet */
    async authorize({ state, redirectUri }: AuthorizeRequest): Promise<{ readonly url: string }> {
      const { clientId } = await application.read();
      const { requiredScope: scope } = settings;
      return { url: consentPage.authorizeUrl({ clientId, scope, state, redirectUri }) };
    },
  };
}

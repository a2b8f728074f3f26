import type { ServiceRequest } from '../http/request.ts';
import { type Answer, answerWith, html } from '../state/answer.ts';
import type { Settings } from '../state/settings.ts';
import { covers, scopeNames } from '../state/tokens.ts';
import { type ConsentMode, issueCode, type World } from '../state/world.ts';

interface Consent {
  readonly scope: string;
  readonly redirectUri: string;
  /** The redirect_uri as sent: if it was, the token request must repeat it. */
  readonly sentRedirectUri: string | undefined;
  readonly state: string | undefined;
}

/**
 * GET /oauth/authorize/: the consent page, or an immediate redirect if the sandbox answers for the user. POST to the
 * same address: the user's decision. A wrong client_id or redirect_uri gets an error page, because a redirect would
 * send the person wherever the author of the link wants.
 * @see partner-api.md §4.7, §5.3
 */
export function serveAuthorize(world: World, { method, query, body }: ServiceRequest): Answer {
  const consent = readRequest(world, query);
  if (typeof consent === 'string') return html(400, errorPage(consent));
  // Errors for the application go to it by redirect (assumed, as in RFC 6749 §4.1.2.1).
  if (query.get('response_type') !== 'code')
    return redirectBack(consent, { error: 'unsupported_response_type' });
  if (!covers(world.settings.allowedScope, consent.scope))
    return redirectBack(consent, { error: 'invalid_scope' });

  const users = [...world.accounts.keys()];
  const { mode, user = users[0] ?? '' } = method === 'POST' ? decision(body) : world.consentMode;
  switch (mode) {
    case 'deny':
      return redirectBack(consent, { error: 'access_denied' });
    case 'allow': {
      if (!world.accounts.has(user)) return html(400, errorPage('There is no such user to log in as.'));
      const { scope, sentRedirectUri: redirectUri } = consent;
      return redirectBack(consent, { code: issueCode(world, { user, scope, redirectUri }) });
    }
    case 'ask':
      return html(200, consentPage(world.settings, consent, users));
  }
}

function decision(body: string): ConsentMode {
  const form = new URLSearchParams(body);
  return { mode: form.get('decision') === 'allow' ? 'allow' : 'deny', user: form.get('user') ?? '' };
}

/** @returns an error text for the person if the address to redirect to cannot be trusted */
function readRequest(world: World, query: URLSearchParams): Consent | string {
  const { clientId, callbackUrls, allowedScope } = world.settings;
  const repeated = [...new Set(query.keys())].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return `The parameter ${repeated} was sent more than once.`;
  if (query.get('client_id') !== clientId) return 'The client_id is missing or not known.';

  const sentRedirectUri = query.get('redirect_uri') || undefined;
  const [only = '', ...others] = callbackUrls;
  if (sentRedirectUri === undefined && (only === '' || others.length > 0)) {
    return 'The parameter redirect_uri is required, because the application has not exactly one Callback URL.';
  }
  const redirectUri = sentRedirectUri ?? only;
  if (!isBasedOnCallback(world, redirectUri)) {
    return 'The redirect_uri is not based on a Callback URL of the application.';
  }
  const scope = scopeNames(query.get('scope') || allowedScope).join(' ');
  return { scope, redirectUri, sentRedirectUri, state: query.get('state') ?? undefined };
}

/** Adds parameters to the redirect_uri, which may already have some. */
function redirectBack({ redirectUri, state }: Consent, parameters: Record<string, string>): Answer {
  const added = new URLSearchParams(parameters);
  if (state !== undefined) added.append('state', state);
  const location = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}`;
  return answerWith(302, {}, { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
}

/**
 * Whether a redirect_uri is based on a registered Callback URL: the same origin, and the same path or one below it,
 * with any query. The document says only "based on", so the exact rule is assumed.
 * @see partner-api.md §5.3, authorization_code rules 1 and 4
 */
export function isBasedOnCallback({ settings }: World, redirectUri: string): boolean {
  // Printable ASCII only: a URL parser ignores line breaks, but they would reach the Location header.
  if (!/^[\x21-\x7e]+$/.test(redirectUri) || /#|&&|\\/.test(redirectUri)) return false;
  const requested = URL.parse(redirectUri);
  if (requested === null || requested.username !== '' || requested.password !== '') return false;
  return settings.callbackUrls.some((callbackUrl) => {
    const { protocol, host, hostname, pathname } = new URL(callbackUrl);
    const isSameHost =
      requested.host === host || (loopback.includes(requested.hostname) && loopback.includes(hostname));
    const below = pathname.endsWith('/') ? pathname : `${pathname}/`;
    const isSamePath = requested.pathname === pathname || requested.pathname.startsWith(below);
    return requested.protocol === protocol && isSameHost && isSamePath;
  });
}

/** Assumed (RFC 8252 §7.3): a loopback redirect_uri may differ from the Callback URL in host name and port. */
const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** Asks a person for consent, and shows the host that the code is sent to. @see §5.3, authorization_code rule 5 */
function consentPage(
  { applicationName, clientId }: Settings,
  { scope, redirectUri }: Consent,
  users: readonly string[],
): string {
  const scopes = scopeNames(scope).map((each) => `<li><b>${htmlText(each)}</b></li>`);
  const options = users.map((user) => `<option>${htmlText(user)}</option>`);
  return page(`<h1>Allow access to your account?</h1>
<p><b>${htmlText(applicationName)}</b> (<code>${htmlText(clientId)}</code>) asks for:</p>
<ul>${scopes.join('')}</ul>
<form method="post">
<p><label>Log in as <select name="user">${options.join('')}</select></label></p>
<p>Then you go back to <b>${htmlText(new URL(redirectUri).host)}</b>.</p>
<p><button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></p>
</form>`);
}

function errorPage(message: string): string {
  return page(`<h1>This link does not work</h1><p>${htmlText(message)}</p>`);
}

function htmlText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const page = (content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Partner service (sandbox)</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 28rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; }
select, button { font: inherit; padding: .5rem 1rem; }
</style>
<main>
${content}
<p>Sandbox of the partner service: nothing here is real.</p>
</main>
</html>
`;

import type { ServiceRequest } from '../http/request.ts';
import { type Answer, html, json } from '../state/answer.ts';
import { randomToken } from '../state/random.ts';
import { covers, scopeNames } from '../state/tokens.ts';
import { issueCode, type PendingConsent, take, type World } from '../state/world.ts';
import { consentPage, errorPage } from './consent-page.ts';

/**
 * GET /oauth/authorize/: the consent page, or an immediate redirect if the sandbox answers for the user. POST: the
 * user's decision. A wrong client_id or redirect_uri gets an error page, because a redirect would send the person
 * wherever the author of the link wants.
 * @see partner-api.md §4.7, §5.3
 */
export function serveAuthorize(world: World, { method, query, body }: ServiceRequest): Answer {
  if (method === 'POST') return decide(world, new URLSearchParams(body));
  const pending = readRequest(world, query);
  if (typeof pending === 'string') return html(400, errorPage(pending));
  // Errors for the application go to it by redirect (assumed, as in RFC 6749 §4.1.2.1).
  if (query.get('response_type') !== 'code') return sendBack(pending, { error: 'unsupported_response_type' });
  if (!covers(world.settings.allowedScope, pending.scope))
    return sendBack(pending, { error: 'invalid_scope' });

  const { consentMode, settings, accounts, pendingConsents } = world;
  const users = [...accounts.keys()];
  switch (consentMode.mode) {
    case 'deny':
      return sendBack(pending, { error: 'access_denied' });
    case 'allow':
      return allow(world, pending, consentMode.user ?? users[0] ?? '');
    case 'ask': {
      const requestId = randomToken(world.random);
      pendingConsents.set(requestId, pending);
      return html(200, consentPage(settings, requestId, pending, users));
    }
  }
}

/** @returns an error text for the person if the address to redirect to cannot be trusted */
function readRequest(world: World, query: URLSearchParams): PendingConsent | string {
  const { clientId, callbackUrls, allowedScope } = world.settings;
  const repeated = [...new Set(query.keys())].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return `The parameter ${repeated} was sent more than once.`;
  if (query.get('client_id') !== clientId) return 'The client_id is missing or not known.';

  const sent = query.get('redirect_uri') || undefined;
  const [only = '', ...others] = callbackUrls;
  if (sent === undefined && (only === '' || others.length > 0)) {
    return 'The parameter redirect_uri is required, because the application has not exactly one Callback URL.';
  }
  const redirectUri = sent ?? only;
  if (!isBasedOnCallback(world, redirectUri)) {
    return 'The redirect_uri is not based on a Callback URL of the application.';
  }
  const scope = scopeNames(query.get('scope') || allowedScope).join(' ');
  const state = query.get('state') ?? undefined;
  return { scope, redirectUri, redirectUriWasSent: sent !== undefined, state };
}

function decide(world: World, form: URLSearchParams): Answer {
  const pending = take(world.pendingConsents, form.get('request') ?? '');
  if (pending === undefined)
    return html(400, errorPage('This page has already been answered, or is too old.'));
  if (form.get('decision') !== 'allow') return sendBack(pending, { error: 'access_denied' });
  return allow(world, pending, form.get('user') ?? '');
}

function allow(world: World, pending: PendingConsent, user: string): Answer {
  if (!world.accounts.has(user)) return html(400, errorPage('There is no such user to log in as.'));
  const redirectUri = pending.redirectUriWasSent ? pending.redirectUri : undefined;
  return sendBack(pending, { code: issueCode(world, { user, scope: pending.scope, redirectUri }) });
}

/** Adds parameters to the redirect_uri, which may already have some. */
function sendBack({ redirectUri, state }: PendingConsent, parameters: Record<string, string>): Answer {
  const added = new URLSearchParams(parameters);
  if (state !== undefined) added.append('state', state);
  const location = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}`;
  return json(302, {}, { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
}

/**
 * Whether a redirect_uri is based on a registered Callback URL: the same origin, and the same path or one below it,
 * with any query. The document says only "based on", so the exact rule is assumed.
 * @see partner-api.md §5.3, authorization_code rules 1 and 4
 */
export function isBasedOnCallback({ settings }: World, redirectUri: string): boolean {
  const { loopbackPortMayDiffer } = settings.assumptions;
  // Printable ASCII only: a URL parser ignores line breaks, but they would reach the Location header.
  if (!/^[\x21-\x7e]+$/.test(redirectUri) || /#|&&|\\/.test(redirectUri)) return false;
  const requested = URL.parse(redirectUri);
  if (requested === null || requested.username !== '' || requested.password !== '') return false;
  return settings.callbackUrls.some((callbackUrl) => {
    const { protocol, host, hostname, pathname } = new URL(callbackUrl);
    const isSameHost =
      requested.host === host ||
      (loopbackPortMayDiffer && loopback.includes(requested.hostname) && loopback.includes(hostname));
    const below = pathname.endsWith('/') ? pathname : `${pathname}/`;
    const isSamePath = requested.pathname === pathname || requested.pathname.startsWith(below);
    return requested.protocol === protocol && isSameHost && isSamePath;
  });
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

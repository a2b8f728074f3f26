import { type ServiceRequest, single } from '../http/request.ts';
import { type Answer, html, json } from '../state/answer.ts';
import type { PendingConsent } from '../state/consent.ts';
import { covers, scopeNames } from '../state/scope.ts';
import type { World } from '../state/world.ts';
import { consentPage, errorPage } from './consent-page.ts';
import { isBasedOnCallback, withParameters } from './redirect-uri.ts';

/**
 * GET /oauth/authorize/: the consent page, or an immediate redirect if the sandbox answers for the user. POST: the
 * user's decision. A wrong client_id or redirect_uri gets an error page, because a redirect would send the person
 * wherever the author of the link wants.
 * @see partner-api.md §4.7, §5.3
 */
export function serveAuthorize(world: World, request: ServiceRequest): Answer {
  if (request.method === 'POST') return decide(world, request);
  const pending = readRequest(world, request.query);
  if (typeof pending === 'string') return html(400, errorPage(pending));
  const refused = refuse(world, request.query, pending);
  if (refused !== undefined) return refused;

  const { consent, application, accounts } = world;
  if (consent.mode.mode === 'deny') return deny(pending);
  if (consent.mode.mode === 'allow') {
    const user = consent.mode.user ?? accounts.keys().next().value;
    return user === undefined
      ? html(500, errorPage('There is no user to log in as.'))
      : allow(world, pending, user);
  }
  const users = [...accounts.keys()];
  const asked = { scopes: scopeNames(pending.scope), users, redirectUri: pending.redirectUri };
  return html(200, consentPage(application, consent.open(pending), asked));
}

/** @returns an error text for the person if the address to redirect to cannot be trusted */
function readRequest(world: World, query: URLSearchParams): PendingConsent | string {
  const { application, settings } = world;
  const repeated = [...new Set(query.keys())].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return `The parameter ${repeated} was sent more than once.`;
  if (query.get('client_id') !== application.clientId) return 'The client_id is missing or not known.';

  const sent = single(query, 'redirect_uri') || undefined;
  const [only, ...others] = application.callbackUrls;
  if (sent === undefined && (only === undefined || others.length > 0)) {
    return 'The parameter redirect_uri is required, because the application has not exactly one Callback URL.';
  }
  const redirectUri = sent ?? only ?? '';
  if (!isBasedOnCallback(application, redirectUri, settings.assumptions.loopbackPortMayDiffer)) {
    return 'The redirect_uri is not based on a Callback URL of the application.';
  }
  return {
    scope: scopeNames(query.get('scope') || application.allowedScope).join(' '),
    redirectUri,
    redirectUriWasSent: sent !== undefined,
    state: query.get('state') ?? undefined,
  };
}

/** Errors that are sent to the application by redirect (assumed, as in RFC 6749 §4.1.2.1). */
function refuse(world: World, query: URLSearchParams, pending: PendingConsent): Answer | undefined {
  if (query.get('response_type') !== 'code') return sendBack(pending, { error: 'unsupported_response_type' });
  if (!covers(world.application.allowedScope, pending.scope))
    return sendBack(pending, { error: 'invalid_scope' });
  return undefined;
}

function decide(world: World, request: ServiceRequest): Answer {
  const form = new URLSearchParams(request.body);
  const pending = world.consent.take(form.get('request') ?? '');
  if (pending === undefined)
    return html(400, errorPage('This page has already been answered, or is too old.'));
  if (form.get('decision') !== 'allow') return deny(pending);
  const user = form.get('user') ?? '';
  return world.accounts.has(user)
    ? allow(world, pending, user)
    : html(400, errorPage('There is no such user to log in as.'));
}

function allow(world: World, pending: PendingConsent, user: string): Answer {
  const code = world.consent.issueCode(
    user,
    pending.scope,
    pending.redirectUriWasSent ? pending.redirectUri : undefined,
  );
  return sendBack(pending, { code });
}

function deny(pending: PendingConsent): Answer {
  return sendBack(pending, { error: 'access_denied' });
}

function sendBack(pending: PendingConsent, parameters: Record<string, string>): Answer {
  const location = withParameters(pending.redirectUri, { ...parameters, state: pending.state });
  return json(302, {}, { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
}

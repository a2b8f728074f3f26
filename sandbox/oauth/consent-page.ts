import type { Settings } from '../state/settings.ts';
import { scopeNames } from '../state/tokens.ts';
import type { PendingConsent } from '../state/world.ts';

/**
 * The page that asks a person for consent. It shows the host that the code is sent to.
 * @param requestId identifies the application's request; the form sends it back
 * @param users those that the person can log in as; the page offers a choice if there are several
 * @see partner-api.md §5.3, authorization_code rule 5
 */
export function consentPage(
  { applicationName, clientId }: Settings,
  requestId: string,
  { scope, redirectUri }: PendingConsent,
  users: readonly string[],
): string {
  const scopes = scopeNames(scope).map((each) => `<li><b>${escapeHtml(each)}</b></li>`);
  const options = users.map((user) => `<option>${escapeHtml(user)}</option>`);
  return page(`<h1>Allow access to your account?</h1>
<p><b>${escapeHtml(applicationName)}</b> (<code>${escapeHtml(clientId)}</code>) asks for:</p>
<ul>${scopes.join('')}</ul>
<form method="post" action="/oauth/authorize/">
<input type="hidden" name="request" value="${escapeHtml(requestId)}">
<p><label>Log in as <select name="user">${options.join('')}</select></label></p>
<p>Then you go back to <b>${escapeHtml(new URL(redirectUri).host)}</b>.</p>
<p><button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></p>
</form>`);
}

/** The page for a request that cannot be redirected to the application. @param message plain text */
export function errorPage(message: string): string {
  return page(`<h1>This link does not work</h1><p>${escapeHtml(message)}</p>`);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const page = (content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Partner service (sandbox)</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 28rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; }
select, button { font: inherit; padding: .5rem 1rem; }
</style>
</head>
<body>
<main>
${content}
<p>Sandbox of the partner service: nothing here is real.</p>
</main>
</body>
</html>
`;

import type { Application } from '../state/world.ts';

const scopeMeanings: Readonly<Record<string, string>> = {
  v2: 'use version 2 of the interface',
  read: 'read your adverts and messages',
  write: 'add and change your adverts and messages',
};

interface Asked {
  readonly scopes: readonly string[];
  /** Users that the person can log in as; the page offers a choice if there are several. */
  readonly users: readonly string[];
  /** The page shows its host, because the code is sent there. */
  readonly redirectUri: string;
}

/**
 * The page that asks a person for consent.
 * @param requestId identifies the application's request; the form sends it back
 * @see partner-api.md §5.3, authorization_code rule 5
 */
export function consentPage(
  application: Application,
  requestId: string,
  { scopes, users, redirectUri }: Asked,
): string {
  const items = scopes.map((scope) => {
    const meaning = Object.hasOwn(scopeMeanings, scope) ? ` — ${scopeMeanings[scope]}` : '';
    return `<li><b>${escapeHtml(scope)}</b>${escapeHtml(meaning)}</li>`;
  });
  return page(
    'Allow access?',
    `<h1>Allow access to your account?</h1>
<p><b>${escapeHtml(application.name)}</b> (<code>${escapeHtml(application.clientId)}</code>) asks to:</p>
<ul>${items.join('')}</ul>
<form method="post" action="/oauth/authorize/">
<input type="hidden" name="request" value="${escapeHtml(requestId)}">
${userChoice(users)}
<p class="back">Then you go back to <b>${escapeHtml(new URL(redirectUri).host)}</b>.</p>
<div class="buttons">
<button class="allow" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</div>
</form>`,
  );
}

/** The page for a request that cannot be redirected to the application. @param message plain text */
export function errorPage(message: string): string {
  return page('Something is wrong', `<h1>This link does not work</h1><p>${escapeHtml(message)}</p>`);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function userChoice(users: readonly string[]): string {
  const [only = '', ...others] = users.map(escapeHtml);
  if (others.length === 0) {
    return `<p>You are logged in as <b>${only}</b>.</p><input type="hidden" name="user" value="${only}">`;
  }
  const options = [only, ...others].map((name) => `<option>${name}</option>`).join('');
  return `<p><label>Log in as <select name="user">${options}</select></label></p>`;
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Partner service (sandbox)</title>
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --ground: #f3f4f6; --card: #fff; --edge: #c9ced6; --strong: #0a6b54; }
@media (prefers-color-scheme: dark) {
:root { --ink: #e8eaed; --soft: #a2a9b3; --ground: #14171a; --card: #1e2226; --edge: #454c55; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 28rem; padding: 2rem; background: var(--card); border: 1px solid var(--edge); border-radius: 14px; }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25; }
ul { padding-left: 1.2rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
label { display: grid; gap: .25rem; }
select, button { font: inherit; color: inherit; background: var(--card); padding: .55rem 1rem; border: 1px solid var(--edge); border-radius: 8px; }
select { width: 100%; }
button { cursor: pointer; flex: 1; }
button:hover { border-color: var(--ink); }
.allow { background: var(--strong); border-color: var(--strong); color: #fff; font-weight: 600; }
.buttons { display: flex; gap: .75rem; margin-top: 1.25rem; }
.back, footer { color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
footer { margin-top: 1.5rem; }
@media (max-width: 30rem) { main { padding: 1.5rem; } }
</style>
</head>
<body>
<main>
${content}
<footer>Sandbox of the partner service: nothing here is real.</footer>
</main>
</body>
</html>
`;
}

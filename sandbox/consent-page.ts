import type { Application } from './world.ts';

const scopeMeanings: Readonly<Record<string, string>> = {
  v2: 'use version 2 of the interface',
  read: 'read your adverts and messages',
  write: 'add and change your adverts and messages',
};

/**
 * The page that asks a person for consent.
 * @param requestId goes back with the form; stands for everything the application asked
 * @param users who can be logged in as; a choice is shown when there are several
 * @see partner-api.md §5.3, authorization_code rule 5
 */
export function consentPage(
  application: Application,
  requestId: string,
  scopes: readonly string[],
  users: readonly string[],
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
<div class="buttons">
<button class="allow" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</div>
</form>`,
  );
}

/** The page for a request that cannot be sent back to the application. @param message plain text */
export function errorPage(message: string): string {
  return page('Something is wrong', `<h1>This link does not work</h1><p>${escapeHtml(message)}</p>`);
}

export function escapeHtml(text: string): string {
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
:root { color-scheme: light dark; --edge: #8884; --strong: #0a6b54; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 16px/1.5 system-ui, sans-serif; }
main { box-sizing: border-box; width: min(28rem, 100vw); padding: 2rem; border: 1px solid var(--edge); border-radius: 12px; }
h1 { margin: 0 0 1rem; font-size: 1.35rem; line-height: 1.25; }
ul { padding-left: 1.2rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
select, button { font: inherit; padding: .5rem 1rem; border: 1px solid var(--edge); border-radius: 8px; }
button { cursor: pointer; flex: 1; }
.allow { background: var(--strong); border-color: var(--strong); color: #fff; font-weight: 600; }
.buttons { display: flex; gap: .75rem; margin-top: 1.5rem; }
footer { margin-top: 1.5rem; font-size: .85rem; opacity: .7; }
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

import { createHash } from 'node:crypto';

/** The outcome, for the person at the browser. Plain text; a command may stand between backticks. */
export interface Outcome {
  readonly kind: 'done' | 'attention' | 'failed';
  readonly title: string;
  readonly paragraphs: readonly string[];
}

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --ground: #f3f4f6; --card: #fff; --edge: #d9dde3;
  --done: #0a6b54; --attention: #8a5a00; --failed: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --soft: #a2a9b3; --ground: #14171a; --card: #1e2226; --edge: #343a41;
    --done: #4fc7a6; --attention: #e5b04e; --failed: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--ground);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { width: 100%; max-width: 30rem; padding: 2rem; background: var(--card); border: 1px solid var(--edge);
  border-radius: 14px; }
svg { display: block; width: 2.75rem; height: 2.75rem; margin-bottom: 1rem; fill: none; stroke: currentColor;
  stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.done svg { color: var(--done); }
.attention svg { color: var(--attention); }
.failed svg { color: var(--failed); }
h1 { margin: 0 0 .75rem; font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere; }
p { margin: 0 0 .75rem; overflow-wrap: anywhere; }
code { padding: .1em .35em; background: var(--ground); border-radius: 5px; font-size: .88em; }
footer { margin-top: 1.5rem; color: var(--soft); font-size: .875rem; }
@media (max-width: 30rem) { main { padding: 1.5rem; } }
`;

/** Nothing is loaded, run, framed or sent; the style is named by its hash, so that no other style applies either. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  // One page ends it: a connection kept alive would only keep the command waiting.
  connection: 'close',
};

const marks: Readonly<Record<Outcome['kind'], string>> = {
  done: '<circle cx="12" cy="12" r="10"/><path d="m7.5 12.5 3 3 6-7"/>',
  attention: '<path d="M12 3 2 20.5h20z"/><path d="M12 10v4.5M12 17.5v.01"/>',
  failed: '<circle cx="12" cy="12" r="10"/><path d="m8.5 8.5 7 7m0-7-7 7"/>',
};

export function pageOf({ kind, title, paragraphs }: Outcome): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Advert Bridge</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main class="${kind}">
<svg viewBox="0 0 24 24" aria-hidden="true">${marks[kind]}</svg>
<h1>${escapeHtml(title)}</h1>
${paragraphs.map((text) => `<p>${withCode(escapeHtml(text))}</p>`).join('\n')}
<footer>Advert Bridge, on your own machine. You can close this page.</footer>
</main>
</body>
</html>
`;
}

const withCode = (html: string): string => html.replaceAll(/`([^`]*)`/g, '<code>$1</code>');

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

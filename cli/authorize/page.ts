import { createHash } from 'node:crypto';

/** The outcome for the browser's user. Plain text; commands may be between backticks. */
export interface Outcome {
  readonly kind: 'done' | 'attention' | 'failed';
  readonly title: string;
  readonly paragraphs: readonly string[];
}

const style = `
:root { color-scheme: light dark; }
body { max-width: 30rem; margin: 15vh auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; }
.mark { font-size: 2.5rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; }
`;

/** The page may load, run, frame and send nothing. The style is allowed by its hash, so that no other style applies. */
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
  // Close the connection after one page: keep-alive would only delay the end of the command.
  connection: 'close',
};

const marks: Readonly<Record<Outcome['kind'], string>> = { done: '✓', attention: '⚠', failed: '✗' };

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
<main>
<div class="mark" aria-hidden="true">${marks[kind]}</div>
<h1>${escapeHtml(title)}</h1>
${paragraphs.map((text) => `<p>${withCode(escapeHtml(text))}</p>`).join('\n')}
<p>Advert Bridge, on your own machine. You can close this page.</p>
</main>
</body>
</html>
`;
}

const withCode = (html: string): string => html.replaceAll(/`([^`]*)`/g, '<code>$1</code>');

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

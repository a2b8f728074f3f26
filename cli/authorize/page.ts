import { createHash } from 'node:crypto';
import { CommandError, UsageError } from '../../operations/errors.ts';
import type { ConnectedAccount } from '../../shared/contract/invocations.ts';

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

export function connectedPage({ partnerAccount, isNew, feed }: ConnectedAccount): Outcome {
  const title = `${partnerAccount} is connected${isNew ? '' : ' again'}`;
  if (feed.kind === 'failed') {
    const but =
      'The credentials are stored, but the first request for its feed failed. The terminal says why.';
    return { kind: 'attention', title, paragraphs: [but] };
  }
  const next = isNew
    ? 'From now on Advert Bridge reads which adverts change.'
    : 'Reading continues from where it had stopped.';
  const well = 'You granted access, the scope is sufficient, and the feed of changed adverts answers.';
  return { kind: 'done', title, paragraphs: [well, next] };
}

export function failedPage(partnerAccount: string, error: Error): Outcome {
  // Only messages written for users, because other messages may contain any text.
  const isForPerson = error instanceof CommandError || error instanceof UsageError;
  const reason = isForPerson ? sentence(error.message) : 'Something unexpected went wrong.';
  return failed(
    `${partnerAccount} is not connected`,
    reason,
    'The terminal says the same. To try again, run the command again.',
  );
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

const failed = (title: string, ...paragraphs: string[]): Outcome => ({ kind: 'failed', title, paragraphs });

/** Answers to all other requests. */
export const strayPages = {
  nothingHere: failed('There is nothing here', 'Use the address that the command in the terminal printed.'),
  stranger: failed(
    'This request is refused',
    'Only a browser that the partner service sends here gets an answer.',
  ),
  notOurs: failed(
    'This answer does not belong to this request',
    'Its state is missing or different: it may belong to an earlier attempt, or come from somebody else. Nothing was changed.',
    'The command in the terminal still waits. Use the address that it printed.',
  ),
  answered: failed(
    'This request was answered already',
    'Each authorization counts once. The terminal shows its outcome.',
  ),
};

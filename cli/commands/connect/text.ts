import type { ConnectedAccount } from '../../../shared/contract/connect.ts';
import { printableLine } from '../../../shared/domain/text/printable.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { defaultPort, loopbackRedirect } from './authorize/redirect-uri.ts';

export const more = `Without a refresh token the user authorizes in a browser: the command listens on 127.0.0.1, prints an address of the
partner service, and connects when the browser comes back from there. The partner service sends a browser back only to a
Callback URL that is registered for the application: register ${loopbackRedirect(defaultPort)}, or give
the one that is registered with --redirect-uri, or another --port. --paste is for a machine without a browser, and for a
Callback URL that is not on loopback: you paste the address that the browser ends at.

A cursor and a history belong to one user. --new-user begins a new generation: no cursor, no history and no token of the
user before is used any more, and subscribers see it by \`generation\`. \`disconnect NAME --forget\` followed by
\`connect NAME\` does the same, and removes what there was.

Exit codes: 0 connected; 1 denied, refused or too late (nothing is stored); 2 wrong usage; 3 connected, but the first
request for the feed failed.

Examples:
  advert-bridge connect main --open                            (the deployed stack)
  advert-bridge connect main --local .advert-bridge --redirect-uri http://127.0.0.1:9000/back
  advert-bridge connect main --paste --redirect-uri https://example.org/callback
  advert-bridge connect main --local .advert-bridge --refresh-token-stdin < refresh-token.txt
  advert-bridge connect main --open --new-user                 (another user, under the same name)
  advert-bridge connect main --refresh-token-file refresh-token.txt --since 2026-11-20T12:00:00Z`;

export const futureText = (since: string): string =>
  `Note: ${since} is in the future by this machine's clock; changes before that time will be missed.`;

export const redrivenText = (letters: number): string =>
  `${letters} of its dead letters are back in the queue.`;

/** The summary of a connected account. */
export function connectedLines(
  target: Target,
  { partnerAccount, scope, tokenExpiresAt, isNew, feed }: ConnectedAccount,
  since: string | undefined,
): string[] {
  const detail = `scope ${scope === '' ? 'unknown' : printableLine(scope)}, token until ${tokenExpiresAt}`;
  const lines = isNew
    ? [`Connected ${partnerAccount} (${detail}).`]
    : [`Connected ${partnerAccount} again (${detail}). Reading continues from the kept cursor.`];
  if (!isNew && since !== undefined) {
    lines.push(
      '--since was ignored: it is for a new name. To start a new history, add --new-user, or run disconnect with --forget first.',
    );
  }
  if (feed.kind === 'read') {
    const changed = `${feed.listed}${feed.hasMore ? ' or more' : ''}`;
    const adverts = feed.listed === 1 && !feed.hasMore ? 'advert has' : 'adverts have';
    lines.push(
      `Its feed answers: ${feed.listed === 0 ? 'no advert has' : `${changed} ${adverts}`} changed lately.`,
    );
  }
  if (target.kind === 'local') lines.push(`Next: \`${commandFor(target, 'run')}\``);
  lines.push(`To see whether all is right: \`${commandFor(target, 'doctor')}\``);
  return lines;
}

/** What the operator should do next; also printed with --json. */
export function leftLines(
  target: Target,
  { partnerAccount, isNew, userUnverified, feed }: ConnectedAccount,
): string[] {
  const lines: string[] = [];
  if (userUnverified !== undefined) {
    lines.push(
      `Note: the bridge could not verify that this is the same user as before: ${userUnverified}. If it is another user ` +
        'by mistake, connect again as the right user. If it is another user on purpose, start a new history, so that no ' +
        `data of the former user is used: \`${commandFor(target, `connect ${partnerAccount} --new-user`)}\``,
    );
  }
  if (feed.kind === 'failed') {
    lines.push(
      feed.fault === 'operator-paused'
        ? `Its feed was not polled: ${printableLine(feed.reason)}. To end the pause: \`${commandFor(target, 'resume [NAME]')}\``
        : `The first request for its feed failed (${feed.fault}): ${printableLine(feed.reason)}. Its credentials are stored` +
            `${isNew ? ' and its feed is registered' : ''}; polling tries again, and ` +
            `\`${commandFor(target, `status ${partnerAccount}`)}\` shows how it goes.`,
    );
  }
  return lines;
}

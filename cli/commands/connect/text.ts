import type { ConnectedAccount } from '../../../shared/contract/connect.ts';
import { printableLine } from '../../../shared/domain/text/printable.ts';
import { type Io, say } from '../../shared/io.ts';
import { commandFor, type Target } from '../../shared/target.ts';

/** Tells a person what was connected. @param isQuiet the account was given as JSON: only what is left to do is told */
export function tellConnected(
  io: Io,
  target: Target,
  account: ConnectedAccount,
  { since, isQuiet }: { readonly since: string | undefined; readonly isQuiet: boolean },
): void {
  const { partnerAccount, isNew, userUnverified, feed } = account;
  if (!isQuiet) {
    for (const line of connectedLines(account, since)) say(io, line);
    if (target.kind === 'local') say(io, `Next: \`${commandFor(target, 'run')}\``);
  }
  if (userUnverified !== undefined) {
    say(
      io,
      `Note: it could not be told whether this is the user of before: ${userUnverified}. If it is another one by mistake, ` +
        `connect again as the right user; if on purpose: \`${commandFor(target, `connect ${partnerAccount} --new-user`)}\`, ` +
        'so that nothing of the user before is used any more.',
    );
  }
  if (feed.kind === 'read') return;
  say(
    io,
    `The first request for its feed failed (${feed.fault}): ${printableLine(feed.reason)}. Its credentials are stored${isNew ? ' and its feed is registered' : ''}; ` +
      `polling tries again, and \`${commandFor(target, `status ${partnerAccount}`)}\` says how it goes.`,
  );
}

function connectedLines(account: ConnectedAccount, since: string | undefined): string[] {
  const { partnerAccount, scope, tokenExpiresAt, isNew, feed } = account;
  const detail = `scope ${scope === '' ? 'not told' : printableLine(scope)}, token until ${tokenExpiresAt}`;
  const lines = isNew
    ? [`Connected ${partnerAccount} (${detail}).`]
    : [`Connected ${partnerAccount} again (${detail}). Reading goes on from the kept cursor.`];
  if (!isNew && since !== undefined) {
    lines.push(
      '--since was left aside: it is for a new name. To begin anew: --new-user, or disconnect with --forget before.',
    );
  }
  if (feed.kind === 'read') {
    const count = `${feed.listed}${feed.hasMore ? ' or more' : ''}`;
    lines.push(
      feed.listed === 0
        ? 'Its feed answers: no advert has changed lately.'
        : `Its feed answers: ${count} ${feed.listed === 1 && !feed.hasMore ? 'advert has' : 'adverts have'} changed lately.`,
    );
  }
  return lines;
}

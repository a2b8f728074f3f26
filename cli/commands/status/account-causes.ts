/** What an operator has to do for one partner account: a sentence for each cause, with the command that fixes it. */
import type { AccountStatus } from '../../../operations/account-status.ts';
import { isAboutSecret } from '../../../shared/contract/names.ts';
import { printableLine } from '../../../shared/domain/text/printable.ts';
import { applicationCommand, connectCommand } from '../../shared/explain.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { duration } from '../../shared/wording.ts';

/** What an operator has to do: a line for each cause, with the command that fixes it. */
export function forPerson(account: AccountStatus, target: Target): string[] {
  const { name, state, attention, reason } = account;
  if (state === 'stopped' && attention.length === 0)
    return [`  to connect it again: \`${connectCommand(target, name)}\``];
  // An operator's pause is shown separately.
  const causes = attention.filter((cause) => cause !== 'operator-paused');
  return causes.map((cause) => {
    const tell = Object.hasOwn(sentences, cause) ? sentences[cause] : undefined;
    return `  ${tell ? tell(account, target) : `it needs manual action (${printableLine(reason ?? cause)})`}`;
  });
}

type Sentence = (account: AccountStatus, target: Target) => string;

const authorizeAgain: Sentence = ({ name }, target) =>
  `have its user authorize again: \`${connectCommand(target, name)}\``;
const scopeLacking: Sentence = (account, target) =>
  `its user granted less than the bridge requires; ${authorizeAgain(account, target)}, with the whole scope`;
const refusedToken: Sentence = (account, target) =>
  `the service no longer accepts its refresh token (revoked, used elsewhere, or unused for a month); ${authorizeAgain(account, target)}`;

const sentences: Readonly<Record<string, Sentence>> = {
  'refresh-token-rejected': refusedToken,
  'grant-rejected': refusedToken,
  'account-stopped': (account, target) =>
    `it has no credentials that work; ${authorizeAgain(account, target)}`,
  'scope-insufficient': scopeLacking,
  'scope-refused': scopeLacking,
  'client-rejected': (_account, target) =>
    `the service refuses the client ID or the client secret; store the right ones: \`${applicationCommand(target)}\``,
  'malformed-state': ({ name, reason }, target) => {
    return isAboutSecret(reason ?? '', 'application')
      ? `the application's credentials are missing or damaged; store them: \`${applicationCommand(target)}\``
      : `its stored data is damaged; if it is its secret: \`${connectCommand(target, name)}\``;
  },
  'wrong-path': (_account, target) =>
    'there is no partner service at the base URL (it answers with a redirect, or does not know the path); set the right one: ' +
    (target.kind === 'local'
      ? `\`${applicationCommand(target)}\``
      : '`npx cdk deploy -c partnerBaseUrl=URL`'),
  'token-answer-broken': ({ name }, target) =>
    'the token endpoint gave an access token that cannot be sent; the bridge asks again. If this stays, ask the service, ' +
    `or authorize again: \`${connectCommand(target, name)}\``,
  'feed-stuck': ({ name }, target) =>
    'its cursor does not move, or is rejected again and again; the bridge tries every five minutes. If this stays, ask ' +
    `the service, or read again from a time that it still knows: \`${commandFor(target, `resync ${name} --since TIME`)}\``,
  lagging: ({ name, lagSeconds }, target) =>
    `its feed was not read to its end for ${duration(lagSeconds ?? 0)}; ` +
    (target.kind === 'local'
      ? `is the bridge running? \`${commandFor(target, 'run')}\``
      : `find out why: \`${commandFor(target, 'doctor')}\`, or for ${name} alone, see the log of the drain`),
  'feed-missing': ({ name }, target) =>
    'its feed is not registered as it should be, so it is not polled; ' +
    `connect it again: \`${connectCommand(target, name)}\``,
  'refresh-token-dying': ({ name, refreshTokenExpiresAt }, target) =>
    `its refresh token was not used for weeks and expires at ${refreshTokenExpiresAt}. Fix what prevents it from being ` +
    `refreshed (the log of refresh-token says what), or \`${connectCommand(target, name)}\``,
};

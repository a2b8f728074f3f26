import type { AccountStatus, FeedStatus } from '../../../operations/account-status.ts';
import type { Status } from '../../../operations/status.ts';
import { isAboutSecret } from '../../../shared/contract/names.ts';
import { printableLine } from '../../../shared/domain/text/printable.ts';
import { applicationCommand, connectCommand } from '../../shared/explain.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { booksText, count, duration } from '../../shared/wording.ts';
import { bridgeLines, pausedText, type Versions } from './bridge-text.ts';

export const more = `Exit code 3 means that something is left for a person: a stopped partner account, a feed that cannot be read until somebody
acts or is more than five minutes behind, a refresh token that is dying of disuse, an open circuit, dead letters, a stored
row that cannot be read; on a stack also a schedule or an event source mapping that is switched off, an alarm that is
raised, and what AWS does not show. Each has a sentence with the command that mends it. More than 20 partner accounts are
summed up, first those that need a person; --json has all of them.

Examples:
  advert-bridge status --local .advert-bridge
  advert-bridge status main --json   (the deployed stack)
  advert-bridge status --watch`;

/** More partner accounts than this are summed up. */
const maxInFull = 20;

/**
 * The status for a person: a few lines for each partner account, those that need somebody first, then the queue and what
 * to do. Many partner accounts are summed up.
 */
export function statusText(status: Status, target: Target, nowMs: number, versions?: Versions): string {
  const { partnerAccounts } = status;
  const inFull = partnerAccounts.length <= maxInFull;
  const lines = inFull
    ? [...partnerAccounts].sort(byUrgency).flatMap((account) => accountLines(account, target))
    : crowdLines(partnerAccounts, target);
  if (partnerAccounts.length === 0) {
    lines.push(`No partner account is connected. Connect one: \`${connectCommand(target, 'NAME')}\``);
  }
  return [...lines, ...bridgeLines(status, target, nowMs, versions)].join('\n');
}

const byUrgency = (a: AccountStatus, b: AccountStatus): number => urgencyOf(b) - urgencyOf(a);

/** Accounts that need a person, then those that wait, then those that failed last; equals stay in order of name. */
const urgencyOf = ({ needsPerson, state, reason }: AccountStatus): number => {
  if (needsPerson) return 3;
  return state === 'paused' ? 2 : Number(state === 'polling' && reason !== null);
};

/** How many accounts of each kind are shown. */
const maxShown = 10;

/** Of a thousand accounts: those that need a person, those that wait or fail, the one furthest behind, the sums. */
function crowdLines(accounts: readonly AccountStatus[], target: Target): string[] {
  const inState = (state: AccountStatus['state']) => accounts.filter((account) => account.state === state);
  const states = (['polling', 'paused', 'stopped'] as const).map(
    (state) => `${count(inState(state).length)} ${state}`,
  );
  const urgent = accounts.filter(({ needsPerson }) => needsPerson);
  const unwell = accounts.filter((account) => !account.needsPerson && urgencyOf(account) > 0);
  const behind = accounts
    .filter(({ state, lagSeconds }) => state === 'polling' && lagSeconds !== null)
    .toSorted((a, b) => (b.lagSeconds ?? 0) - (a.lagSeconds ?? 0));
  const isCountedPerDelivery = accounts.some(({ redelivered }) => redelivered !== undefined);
  const sums = accounts.map(({ books, redelivered = 0 }) => ({ ...books, redelivered })).reduce(sumOf);
  return [
    `${count(accounts.length)} partner accounts: ${states.join(', ')}`,
    ...(urgent.length > 0 ? [`${count(urgent.length)} of them need a person:`] : []),
    ...urgent
      .slice(0, maxShown)
      .flatMap((account) => [
        `  ${headLine(account)}`,
        ...forPerson(account, target).map((line) => `  ${line}`),
      ]),
    ...andMore(urgent),
    ...(unwell.length > 0 ? [`${count(unwell.length)} wait or fail for now:`] : []),
    ...unwell.slice(0, maxShown).map((account) => `  ${headLine(account)}`),
    ...andMore(unwell),
    ...behind
      .slice(0, 1)
      .map(({ name, lagSeconds }) => `furthest behind: ${name}, ${duration(lagSeconds ?? 0)}`),
    `books: ${booksText(isCountedPerDelivery ? { books: sums, redelivered: sums.redelivered } : { books: sums })}`,
    `One of them in full: \`${commandFor(target, 'status NAME')}\`; all of them: \`${commandFor(target, 'status --json')}\``,
  ];
}

const andMore = ({ length }: readonly AccountStatus[]): string[] =>
  length > maxShown ? [`  and ${count(length - maxShown)} more`] : [];

type Sums = AccountStatus['books'] & { readonly redelivered: number };

const sumOf = (a: Sums, b: Sums): Sums =>
  Object.fromEntries(
    Object.entries(a).map(([term, value]) => [term, value + b[term as keyof Sums]]),
  ) as unknown as Sums;

function accountLines(account: AccountStatus, target: Target): string[] {
  return [
    headLine(account),
    `  feed:  ${readText(account)}`,
    `  token: ${tokenText(account)}`,
    `  books: ${booksText(account)}`,
    ...(account.feeds ?? []).flatMap((feed) => [
      `  ${feed.feed}: ${readText(feed)}${feed.reason === null ? '' : ` (${printableLine(feed.reason)})`}`,
      `    books: ${booksText(feed)}`,
    ]),
    ...(account.paused
      ? [`  ${pausedText(account.paused, commandFor(target, `resume ${account.name}`))}`]
      : []),
    ...forPerson(account, target),
  ];
}

function readText({ lastSuccess, lagSeconds, cursorResets }: AccountStatus | FeedStatus): string {
  const resets = cursorResets === 0 ? '' : `, cursor rejected ${count(cursorResets)} times`;
  if (lagSeconds === null) return `none${resets}`;
  return lastSuccess === null
    ? `not read to its end yet, ${duration(lagSeconds)} after it was connected${resets}`
    : `${duration(lagSeconds)} behind (last success ${lastSuccess})${resets}`;
}

function tokenText({ state, tokenExpiresAt }: AccountStatus): string {
  if (tokenExpiresAt === null) return 'none';
  return state === 'stopped' ? 'not used any more' : `until ${tokenExpiresAt}, then refreshed`;
}

/** What somebody has to do: a line for each cause, with the command that fixes it. */
export function forPerson(account: AccountStatus, target: Target): string[] {
  const { name, state, attention, reason } = account;
  if (state === 'stopped' && attention.length === 0)
    return [`  to connect it again: \`${connectCommand(target, name)}\``];
  // What an operator paused is shown for itself.
  const causes = attention.filter((cause) => cause !== 'operator-paused');
  return causes.map((cause) => {
    const tell = Object.hasOwn(sentences, cause) ? sentences[cause] : undefined;
    return `  ${tell ? tell(account, target) : `it cannot go on until somebody acts (${printableLine(reason ?? cause)})`}`;
  });
}

type Sentence = (account: AccountStatus, target: Target) => string;

const authorizeAgain: Sentence = ({ name }, target) =>
  `have its user authorize again: \`${connectCommand(target, name)}\``;
const scopeLacking: Sentence = (account, target) =>
  `its user granted less than the bridge requires; ${authorizeAgain(account, target)}, with the whole scope`;
const refusedToken: Sentence = (account, target) =>
  `the service does not accept its refresh token any more (withdrawn, used elsewhere, or unused for a month); ${authorizeAgain(account, target)}`;

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
    `or authorize anew: \`${connectCommand(target, name)}\``,
  'feed-stuck': ({ name }, target) =>
    'its cursor does not move, or is rejected again and again; the bridge tries every five minutes. If this stays, ask ' +
    `the service, or read again from a time that it still knows: \`${commandFor(target, `resync ${name} --since TIME`)}\``,
  lagging: ({ name, lagSeconds }, target) =>
    `its feed was not read to its end for ${duration(lagSeconds ?? 0)}; ` +
    (target.kind === 'local'
      ? `is the bridge running? \`${commandFor(target, 'run')}\``
      : `find out why: \`${commandFor(target, 'doctor')}\`, or of ${name} alone the log of the drain`),
  'feed-missing': ({ name }, target) =>
    'its feed is not registered as it should be, so it is not polled; ' +
    `connect it again: \`${connectCommand(target, name)}\``,
  'other-feed': ({ feeds = [] }) => {
    const names = feeds.filter(({ needsPerson }) => needsPerson).map(({ feed }) => feed);
    return `its feed of ${names.join(', ')} cannot be read until somebody acts; its adverts go on. To be without it, leave it out of the setting feeds`;
  },
  'refresh-token-dying': ({ name, refreshTokenExpiresAt }, target) =>
    `its refresh token was not used for weeks and expires at ${refreshTokenExpiresAt}. Fix what keeps it from being ` +
    `refreshed (the log of refresh-token says what), or \`${connectCommand(target, name)}\``,
};

const headLine = ({ name, state, reason }: AccountStatus): string =>
  `${name}: ${state}${reason === null ? '' : ` (${printableLine(reason)})`}`;

import * as v from 'valibot';
import type { ConnectedAccount } from '../../../functions/connect/requests.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import { isDelivering } from '../../operations/bridge.ts';
import { connectAccount } from '../../operations/connect-functions.ts';
import { listDeadLetters, redriveDeadLetters } from '../../operations/dead-letters.ts';
import { connectWords, requireKnown, UsageError } from '../../operations/errors.ts';
import { beginNewHistory } from '../../operations/new-history.ts';
import type { NewHistory } from '../../operations/printed.ts';
import { checkedWay, defaultPort, loopbackRedirect, redirectUrl } from '../authorize/redirect-uri.ts';
import { withBridge } from '../bridge/open.ts';
import { type Call, defineCommand } from '../shared/command.ts';
import { type ExitCode, exitCodes, say } from '../shared/io.ts';
import {
  type Checked,
  flag,
  number,
  option,
  optionalNumber,
  pastMoment,
  settingOptions,
  text,
} from '../shared/options.ts';
import { readSecret } from '../shared/secret-input.ts';
import type { Target } from '../shared/target.ts';
import { are, factTable } from '../shared/wording.ts';

const { requiredScope, overlapSeconds, acceptLanguage } = bridgeSettings;
const nameHelp = 'the name that the partner account has in events';
const browserOptions = {
  open: flag('open the address in a browser here'),
  port: optionalNumber(`where to listen; 0: any free port (default: ${defaultPort})`, 0, 65_535),
  redirectUri: option('URL', 'the registered Callback URL, or one based on it', v.optional(redirectUrl)),
  paste: flag('do not listen: paste the final address'),
  timeoutSeconds: number('how long to wait for the user', 1, 86_400, 300),
};
const inBrowser = Object.keys(browserOptions);
const loginOptions = {
  ...browserOptions,
  sameUser: flag('for a known NAME: the user need not be verified'),
  newUser: flag('for a known NAME: another user, a new history', 'sameUser'),
  refreshTokenStdin: flag('no browser: the token on standard input', ...inBrowser),
  refreshTokenFile: { ...text('FILE', 'no browser: the token in FILE'), conflicts: inBrowser },
};
const options = {
  name: { argument: '[NAME]', help: nameHelp, schema: v.optional(partnerAccountName) },
  ...loginOptions,
  newHistory: flag('for a known NAME: a new history, with its token', ...Object.keys(loginOptions)),
  all: flag('with --new-history: every partner account'),
  since: option('TIME', 'where reading begins: new NAME, user or history', v.optional(pastMoment)),
  ...settingOptions({ requiredScope, overlapSeconds, acceptLanguage }),
};
type ConnectCall = Call<Target, Checked<typeof options>>;

export const addConnect = defineCommand(
  {
    help: `connect a partner account
Lets the user authorize the application, or reads a refresh token; stores the token pair, and starts polling
the feed. A known NAME gets new credentials of the same user, and keeps its cursor. Register the Callback URL
${loopbackRedirect(defaultPort)} for the application, or name the registered one
(docs/operate/deploy.md). Exit code 3: connected, but the first request for the feed failed.

Examples:
  $0 connect main --open   (the deployed stack)
  $0 connect main --local .advert-bridge --refresh-token-stdin < token.txt
  $0 connect --all --new-history --since 2026-11-20T12:00:00Z`,
    options,
  },
  async (call) => {
    const { io, target, options: given, report, command } = call;
    if (given.newHistory) return withNewHistory(call);
    const { name: partnerAccount, since, refreshTokenStdin: fromStdin, refreshTokenFile: file } = given;
    if (partnerAccount === undefined || given.all)
      throw new UsageError(given.all ? '--all goes with --new-history' : `NAME is missing: ${nameHelp}`);
    const { sameUser, newUser } = given;
    const user = { partnerAccount, since, sameUser: sameUser || undefined, newUser: newUser || undefined };
    const source = { what: 'refresh token', option: '--refresh-token', fromStdin, file };
    const isByToken = fromStdin || file !== undefined;
    const credential = isByToken ? { refreshToken: await readSecret(io, source) } : checkedWay(given);

    return withBridge(
      target,
      async (bridge) => {
        let account: ConnectedAccount;
        if ('refreshToken' in credential) account = await connectAccount(bridge, { ...user, ...credential });
        else {
          const { connectByCode } = await import('../authorize/authorize.ts');
          account = await connectByCode(io, bridge, { ...given, user, way: credential });
        }
        report(
          account,
          ...connectedLines(call, account),
          ...(isDelivering(bridge) ? [] : [`Next: ${command('run')}`]),
          `To see whether all is right: ${command('doctor')}`,
        );
        // Printed separately: the account is already connected, whatever happens next.
        if (!account.isNew) {
          const { deadLetters } = await listDeadLetters(bridge, { partnerAccount });
          const { redriven } = await redriveDeadLetters(bridge, deadLetters);
          if (redriven.length > 0) say(io, `${redriven.length} of its dead letters were redriven.`);
        }
        return account.feed.kind === 'read' ? exitCodes.done : exitCodes.needsPerson;
      },
      { settings: given },
    );
  },
);

/** After a restore: a new generation of NAME, or of every partner account, with the token that is stored. */
async function withNewHistory({ target, options, report, command }: ConnectCall): Promise<ExitCode> {
  const { name, all, since } = options;
  if ((name === undefined) !== all) throw new UsageError('--new-history: give one NAME, or --all');
  return withBridge(target, async (bridge) => {
    await requireKnown(bridge.partnerAccounts, name);
    const accounts = name === undefined ? await bridge.partnerAccounts.list() : [{ name }];
    const begun: NewHistory[] = [];
    const stopped: string[] = [];
    for (const each of accounts) {
      const history = await beginNewHistory(bridge, each.name, since);
      if (history) begun.push(history);
      else stopped.push(each.name);
    }
    const lines = factTable(begun);
    for (const each of stopped)
      lines.push(`${each} is stopped. Connect it again: ${command(connectWords(each))}`);
    if (begun.length > 0)
      lines.push(`To publish the adverts that did not change since: ${command('backfill NAME')}`);
    report({ partnerAccounts: begun, stopped }, ...lines);
    return stopped.length > 0 ? exitCodes.needsPerson : exitCodes.done;
  });
}

function* connectedLines(
  { command, options: { since } }: ConnectCall,
  { partnerAccount, scope, tokenExpiresAt, isNew, userUnverified, feed }: ConnectedAccount,
): Generator<string> {
  const detail = `scope ${scope === '' ? 'unknown' : scope}, token until ${tokenExpiresAt}`;
  if (isNew) yield `Connected ${partnerAccount} (${detail}).`;
  else yield `Connected ${partnerAccount} again (${detail}). Reading continues from the kept cursor.`;
  if (!isNew && since !== undefined)
    yield '--since was ignored: it is for a new name, or goes with --new-user or --new-history.';
  if (userUnverified !== undefined)
    yield `Note: nothing tells whether this is the same user as before: ${userUnverified}. If it is another one, connect ` +
      `again: as the right user, or with a new history (${command(`connect ${partnerAccount} --new-user`)})`;
  if (feed.kind === 'read')
    yield `Its feed answers: ${are(feed.listed, 'advert has', 'adverts have')} changed lately${feed.hasMore ? ', or more' : ''}.`;
  else
    yield `The first request for its feed failed (${feed.fault}): ${feed.reason}. Its credentials are stored; ` +
      `polling tries again, and ${command(`status ${partnerAccount}`)} shows how it goes.`;
}

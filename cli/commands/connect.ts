import * as v from 'valibot';
import { partnerAccountName } from '../../shared/contract/checks.ts';
import { bridgeSettings } from '../../shared/contract/settings.ts';
import type { ConnectedAccount } from '../bridge.ts';
import { checkedOptions, momentOption } from '../check-options.ts';
import type { AddCommand } from '../cli.ts';
import { exitCodes, give, type Io, say } from '../io.ts';
import { withBridge } from '../open-bridge.ts';
import { checkSecretSource, readSecret } from '../secret-input.ts';
import { commandFor, type Target, type TargetOptions, targetOf, withJson, withTarget } from '../target.ts';
import { UsageError } from '../usage.ts';

const help = `
Examples:
  advert-bridge connect main --local .advert-bridge --refresh-token-stdin < refresh-token.txt
  advert-bridge connect main --local .advert-bridge --refresh-token-stdin --since 2026-11-20T12:00:00Z < refresh-token.txt
  advert-bridge connect main --refresh-token-file refresh-token.txt   (the deployed stack)`;

export const addConnect: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('connect')))
    .summary('connect a partner account')
    .description(
      'Exchanges a refresh token of the partner account for a token pair, checks its scope, stores it and begins to ' +
        'poll its feed. Again on a known NAME: new credentials, its dead letters go back to the queue; the cursor stays.',
    )
    .argument('<NAME>', 'the name that the partner account has in events')
    .option('--refresh-token-stdin', 'the refresh token is on standard input')
    .option('--refresh-token-file <FILE>', 'the refresh token is in FILE')
    .option('--since <TIME>', 'where reading of the feed begins, for a new NAME (default: a few minutes ago)')
    .option('--required-scope <SCOPES>', 'what must be granted (with --local; default: "v2 read write")')
    .option(
      '--overlap-seconds <N>',
      'how far before now reading begins by default (with --local; default: 300)',
    )
    .option('--accept-language <LANGUAGE>', 'language of the partner service (with --local)')
    .addHelpText('after', help)
    .action(async (name: string, options: ConnectOptions) => {
      await connect(io, name, options);
      end(exitCodes.done);
    });

interface ConnectOptions extends TargetOptions {
  readonly refreshTokenStdin?: boolean;
  readonly refreshTokenFile?: string;
  readonly json?: boolean;
  readonly since?: string;
  readonly requiredScope?: string;
  readonly overlapSeconds?: string;
  readonly acceptLanguage?: string;
}

const { requiredScope, overlapSeconds, acceptLanguage } = bridgeSettings;
/** What a stack has as settings of its own. */
const localSettings = { requiredScope, overlapSeconds, acceptLanguage };
const entries = { name: partnerAccountName, since: v.optional(momentOption), ...localSettings };

async function connect(io: Io, name: string, options: ConnectOptions): Promise<void> {
  const target = targetOf(options);
  if (target.kind === 'stack') refuseLocalSettings(options);
  const {
    since,
    name: partnerAccount,
    ...settings
  } = checkedOptions(entries, { ...options, name }, { name: 'NAME' });
  const source = {
    what: 'refresh token',
    option: '--refresh-token',
    fromStdin: options.refreshTokenStdin,
    file: options.refreshTokenFile,
  };
  checkSecretSource(source);
  if (since !== undefined && Date.parse(since) > Date.now()) {
    say(io, `Note: ${since} lies in the future by this machine's clock; changes before it are not seen.`);
  }
  const refreshToken = await readSecret(io, source);

  await withBridge(
    target,
    async (bridge) => {
      const request = { partnerAccount, refreshToken, ...(since === undefined ? {} : { since }) };
      const account = await bridge.connect(request);
      if (options.json) give(io, account);
      else tell(io, target, account, since);
      // What was given up while it was stopped; told on its own, for the account is connected by now whatever comes.
      if (account.isNew) return;
      const { done } = await bridge.deadLetters.redrive({ partnerAccount });
      if (done.length > 0) say(io, `${done.length} of its dead letters are back in the queue.`);
    },
    { settings },
  );
}

function refuseLocalSettings(options: ConnectOptions): void {
  for (const name of Object.keys(localSettings) as (keyof typeof localSettings)[]) {
    if (options[name] === undefined) continue;
    throw new UsageError(`${name} is a setting of the stack: npx cdk deploy -c ${name}=VALUE`);
  }
}

function tell(io: Io, target: Target, account: ConnectedAccount, since: string | undefined): void {
  const { partnerAccount, scope, tokenExpiresAt, isNew } = account;
  const detail = `scope ${scope === '' ? 'not told' : scope}, token until ${tokenExpiresAt}`;
  if (isNew) say(io, `Connected ${partnerAccount} (${detail}).`);
  else {
    say(io, `Connected ${partnerAccount} again (${detail}). Reading goes on from the kept cursor.`);
    if (since !== undefined)
      say(io, '--since was left aside: it is for a new name. To begin anew, disconnect with --forget.');
  }
  if (target.kind === 'local') say(io, `Next: \`${commandFor(target, 'run')}\``);
}

import * as v from 'valibot';
import { UsageError } from '../../../operations/errors.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import type { ConnectedAccount } from '../../../shared/contract/connect.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import { checkedOptions, momentOption, optionOf, wholeOption } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../../shared/io.ts';
import { checkSecretSource, readSecret } from '../../shared/secret-input.ts';
import { type TargetOptions, targetOf, withJson, withTarget } from '../../shared/target.ts';
import { withBridge } from '../../targets/open-bridge.ts';
import type { Authorization } from './authorize/authorize.ts';
import { defaultPort, flawOf, listenAt, loopbackRedirect } from './authorize/redirect-uri.ts';
import { tellConnected } from './text.ts';

const defaultTimeoutSeconds = '300';

const help = `
Without a refresh token the user authorizes in a browser: the command listens on 127.0.0.1, prints an address of the
partner service, and connects when the browser comes back from it. The partner service sends a browser back only to a
Callback URL that the application has registered there: register ${loopbackRedirect(defaultPort)}, or give
the one that is registered with --redirect-uri, or another --port. --paste is for a machine without a browser, and for a
Callback URL that is not on loopback: the address that the browser ends at is pasted.

A cursor and a history belong to the user that they came from. --new-user begins a new generation: no cursor, no history
and no token of the user before is used any more, and subscribers see it by \`generation\`. \`disconnect NAME --forget\` and
then \`connect NAME\` does the same, and removes what there was.

Exit codes: 0 connected, 1 denied, refused or late (nothing is stored), 2 wrong usage, 3 connected, but the first request
for the feed failed.

Examples:
  advert-bridge connect main --open                            (the deployed stack)
  advert-bridge connect main --local .advert-bridge --redirect-uri http://127.0.0.1:9000/back
  advert-bridge connect main --paste --redirect-uri https://example.org/callback
  advert-bridge connect main --local .advert-bridge --refresh-token-stdin < refresh-token.txt
  advert-bridge connect main --open --new-user                 (another user, under the same name)
  advert-bridge connect main --refresh-token-file refresh-token.txt --since 2026-11-20T12:00:00Z`;

export const addConnect: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('connect')))
    .summary('connect a partner account')
    .description(
      'Has the user of a partner account authorize the application (or takes a refresh token), checks the scope, stores ' +
        'the token pair and begins to poll the feed. Again on a known NAME, disconnected or not: new credentials of ' +
        'the same user, its dead letters go back to the queue; the cursor stays. Another user is refused where the feed ' +
        'tells; --new-user gives NAME to another one.',
    )
    .argument('<NAME>', 'the name that the partner account has in events')
    .option('--open', 'open the address in the browser of this machine')
    .option('--port <N>', `where to listen on 127.0.0.1; 0: any free port (default: ${defaultPort})`)
    .option(
      '--redirect-uri <URL>',
      `the registered Callback URL, or one based on it (default: ${loopbackRedirect(defaultPort)})`,
    )
    .option('--paste', 'do not listen: paste the address that the browser ends at')
    .option('--timeout-seconds <N>', `how long to wait for the user (default: ${defaultTimeoutSeconds})`)
    .option('--same-user', 'for a known NAME: do not look whether the same user authorized')
    .option(
      '--new-user',
      'for a known NAME: give it to another user, and begin anew (--since TIME goes with it)',
    )
    .option('--refresh-token-stdin', 'no browser: the refresh token is on standard input')
    .option('--refresh-token-file <FILE>', 'no browser: the refresh token is in FILE')
    .option(
      '--since <TIME>',
      'where reading of the feed begins, for a new NAME or user (default: a few minutes ago)',
    )
    .option('--required-scope <SCOPES>', 'what must be granted (with --local; default: "v2 read write")')
    .option(
      '--overlap-seconds <N>',
      'how far before now reading begins by default (with --local; default: 300)',
    )
    .option('--accept-language <LANGUAGE>', 'language of the partner service (with --local)')
    .addHelpText('after', help)
    .action(async (name: string, options: ConnectOptions) => {
      end(await connect(io, name, options));
    });

interface ConnectOptions extends TargetOptions {
  readonly open?: boolean;
  readonly port?: string;
  readonly redirectUri?: string;
  readonly paste?: boolean;
  readonly timeoutSeconds?: string;
  readonly sameUser?: boolean;
  readonly newUser?: boolean;
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
const entries = {
  name: partnerAccountName,
  since: v.optional(momentOption),
  sameUser: v.optional(v.boolean()),
  newUser: v.optional(v.boolean()),
  ...localSettings,
};

const redirectUri = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const flaw = dataset.typed ? flawOf(dataset.value) : undefined;
    if (flaw !== undefined) addIssue({ message: flaw });
  }),
);
const flowEntries = {
  port: v.optional(wholeOption(0, 65_535)),
  redirectUri: v.optional(redirectUri),
  timeoutSeconds: v.optional(wholeOption(1, 86_400, 'whole seconds'), defaultTimeoutSeconds),
};
/** What has no meaning beside a refresh token. */
const flowOptions = ['open', 'port', 'redirectUri', 'paste', 'timeoutSeconds'] as const;

async function connect(io: Io, name: string, options: ConnectOptions): Promise<ExitCode> {
  const target = targetOf(options);
  if (target.kind === 'stack') refuseLocalSettings(options);
  const { refreshTokenStdin: fromStdin, refreshTokenFile: file } = options;
  const source = { what: 'refresh token', option: '--refresh-token', fromStdin, file };
  const isByCode = !fromStdin && file === undefined;
  const given = { ...options, name };
  const {
    since,
    sameUser,
    newUser,
    name: partnerAccount,
    ...settings
  } = checkedOptions({ ...entries, ...(isByCode ? flowEntries : {}) }, given, { name: 'NAME' });
  if (sameUser && newUser) {
    throw new UsageError(
      '--same-user and --new-user say the opposite of one another: leave one of them away',
    );
  }
  const flow = isByCode ? flowOf(options) : undefined;
  if (!flow) refuseFlowOptions(options);
  if (!flow) checkSecretSource(source);
  if (since !== undefined && Date.parse(since) > Date.now()) {
    say(io, `Note: ${since} lies in the future by this machine's clock; changes before it are not seen.`);
  }
  const common = {
    partnerAccount,
    ...(since === undefined ? {} : { since }),
    ...(sameUser === undefined ? {} : { sameUser }),
    ...(newUser === undefined ? {} : { newUser }),
  };
  const refreshToken = flow ? undefined : await readSecret(io, source);

  return withBridge(
    target,
    async (bridge, place) => {
      let account: ConnectedAccount;
      if (refreshToken) account = await bridge.connect({ ...common, refreshToken });
      else if (flow) {
        const { connectByCode } = await import('./authorize/authorize.ts');
        account = await connectByCode(io, { bridge, place }, { ...common, ...flow });
      } else throw new Error('neither a refresh token nor a flow');
      if (options.json) give(io, account);
      tellConnected(io, target, account, { since, isQuiet: options.json ?? false });
      // What was given up while it was stopped; told on its own, for the account is connected by now whatever comes.
      if (!account.isNew) {
        const { done } = await bridge.deadLetters.redrive({ partnerAccount });
        if (done.length > 0) say(io, `${done.length} of its dead letters are back in the queue.`);
      }
      return account.feed.kind === 'read' ? exitCodes.done : exitCodes.needsPerson;
    },
    { settings },
  );
}

type Flow = Pick<Authorization, 'way' | 'openBrowser' | 'timeoutSeconds'>;

function flowOf(options: ConnectOptions): Flow {
  const { port, redirectUri: given, timeoutSeconds } = checkedOptions(flowEntries, { ...options });
  const at = {
    ...(port === undefined ? {} : { port }),
    ...(given === undefined ? {} : { redirectUri: given }),
  };
  if (!options.paste) {
    return { way: { listen: listenAt(at) }, openBrowser: options.open ?? false, timeoutSeconds };
  }
  if (port === 0)
    throw new UsageError('--port: with --paste nothing listens, so there is no free port to take');
  const redirectUri = given ?? loopbackRedirect(port ?? defaultPort);
  return { way: { paste: { redirectUri } }, openBrowser: options.open ?? false, timeoutSeconds };
}

function refuseFlowOptions(options: ConnectOptions): void {
  const stray = flowOptions.find((name) => options[name] !== undefined);
  if (stray === undefined) return;
  throw new UsageError(
    `${optionOf(stray)} is for connecting with a browser: leave it, or the refresh token, away`,
  );
}

function refuseLocalSettings(options: ConnectOptions): void {
  for (const name of Object.keys(localSettings) as (keyof typeof localSettings)[]) {
    if (options[name] === undefined) continue;
    throw new UsageError(`${name} is a setting of the stack: npx cdk deploy -c ${name}=VALUE`);
  }
}

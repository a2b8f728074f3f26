import * as v from 'valibot';
import type { Bridge, UserChoice } from '../../../operations/bridge.ts';
import { UsageError } from '../../../operations/errors.ts';
import type { ConnectedAccount } from '../../../shared/contract/connect.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import type { Place } from '../../shared/explain.ts';
import { exitCodes, type Io, say } from '../../shared/io.ts';
import {
  type Checked,
  flag,
  momentOption,
  nameArgument,
  type OptionSpecs,
  option,
  optionalNumber,
  optionOf,
  settingSchema,
  text,
} from '../../shared/options.ts';
import { readSecret } from '../../shared/secret-input.ts';
import { defaultPort, listenAt, loopbackRedirect, redirectUrl } from './authorize/redirect-uri.ts';
import { connectedLines, futureText, leftLines, more, redrivenText } from './text.ts';

const defaultTimeoutSeconds = 300;

const { requiredScope, overlapSeconds, acceptLanguage } = bridgeSettings;
/**
 * Settings that a stack has itself. They have no defaults here, so that only options that were really given are
 * rejected for a stack.
 */
const localSettings = {
  requiredScope: option(
    'SCOPES',
    'scope that must be granted (with --local; default: "v2 read write")',
    settingSchema(requiredScope),
  ),
  overlapSeconds: option(
    'N',
    'seconds before now at which reading starts (with --local; default: 300)',
    settingSchema(overlapSeconds),
  ),
  acceptLanguage: option(
    'LANGUAGE',
    'language of the partner service (with --local)',
    settingSchema(acceptLanguage),
  ),
};

const callbackUrl = loopbackRedirect(defaultPort);
/** Options for connecting with a browser. They have no meaning together with a refresh token. */
const browserOptions = {
  open: flag('open the address in the browser of this machine'),
  port: optionalNumber(`where to listen on 127.0.0.1; 0: any free port (default: ${defaultPort})`, 0, 65_535),
  redirectUri: option(
    'URL',
    `the registered Callback URL, or one based on it (default: ${callbackUrl})`,
    v.optional(redirectUrl),
  ),
  paste: flag('do not listen: paste the address that the browser ends at'),
  timeoutSeconds: optionalNumber(
    `how long to wait for the user (default: ${defaultTimeoutSeconds})`,
    1,
    86_400,
  ),
};

const options = {
  ...browserOptions,
  sameUser: flag('for a known NAME: do not check whether the same user authorized'),
  newUser: flag('for a known NAME: give it to another user and start a new history (with --since TIME)'),
  refreshTokenStdin: flag('no browser: read the refresh token from standard input'),
  refreshTokenFile: text('FILE', 'no browser: read the refresh token from FILE'),
  since: option(
    'TIME',
    'where reading of the feed begins, for a new NAME or user (default: a few minutes ago)',
    v.optional(momentOption),
  ),
  ...localSettings,
};
type ConnectOptions = Checked<typeof options>;

export const addConnect = defineCommand(
  {
    name: 'connect',
    summary: 'connect a partner account',
    description:
      'Lets the user of a partner account authorize the application (or reads a refresh token), checks the scope, stores ' +
      'the token pair and starts polling the feed. For a known NAME, disconnected or not, it stores new credentials of ' +
      'the same user and puts its dead letters back into the queue; the cursor stays. It refuses another user if the ' +
      'feed or the adverts show it; --new-user gives NAME to another user.',
    more,
    args: { partnerAccount: { ...nameArgument, help: 'the name that the partner account has in events' } },
    options,
  },
  async ({ io, target, args: { partnerAccount }, options: given, report }) => {
    const setting = target.kind === 'stack' ? givenOf(localSettings, given) : undefined;
    if (setting !== undefined) {
      throw new UsageError(`${setting} is a setting of the stack: npx cdk deploy -c ${setting}=VALUE`);
    }
    const { since, sameUser, newUser, refreshTokenStdin, refreshTokenFile } = given;
    if (sameUser && newUser) {
      throw new UsageError('--same-user and --new-user contradict each other: leave one of them out');
    }
    const user: UserChoice = {
      partnerAccount,
      since,
      sameUser: sameUser || undefined,
      newUser: newUser || undefined,
    };
    const isByBrowser = !refreshTokenStdin && refreshTokenFile === undefined;
    const connect = isByBrowser ? await byBrowser(io, user, given) : await byRefreshToken(io, user, given);
    if (since !== undefined && Date.parse(since) > Date.now()) say(io, futureText(since));

    const work = async (bridge: Bridge, place: Place) => {
      const account = await connect(bridge, place);
      report(account, ...connectedLines(target, account, since));
      for (const line of leftLines(target, account)) say(io, line);
      // Printed separately: the account is already connected, whatever happens next.
      if (!account.isNew) {
        const { done } = await bridge.deadLetters.redrive({ partnerAccount });
        if (done.length > 0) say(io, redrivenText(done.length));
      }
      return account.feed.kind === 'read' ? exitCodes.done : exitCodes.needsPerson;
    };
    return withBridge(target, work, { settings: given });
  },
);

type Connect = (bridge: Bridge, place: Place) => Promise<ConnectedAccount>;

async function byRefreshToken(io: Io, user: UserChoice, given: ConnectOptions): Promise<Connect> {
  const stray = givenOf(browserOptions, given);
  if (stray !== undefined) {
    throw new UsageError(
      `${optionOf(stray)} is for connecting with a browser: leave it, or the refresh token, out`,
    );
  }
  const { refreshTokenStdin: fromStdin, refreshTokenFile: file } = given;
  const source = { what: 'refresh token', option: '--refresh-token', fromStdin, file };
  const refreshToken = await readSecret(io, source);
  return (bridge) => bridge.functions.connect({ ...user, refreshToken });
}

async function byBrowser(
  io: Io,
  user: UserChoice,
  { port, redirectUri, paste, open, timeoutSeconds = defaultTimeoutSeconds }: ConnectOptions,
): Promise<Connect> {
  if (paste && port === 0) {
    throw new UsageError('--port: with --paste nothing listens, so there is no free port to take');
  }
  const way = paste
    ? { paste: { redirectUri: redirectUri ?? loopbackRedirect(port ?? defaultPort) } }
    : { listen: listenAt(port, redirectUri) };
  const { connectByCode } = await import('./authorize/authorize.ts');
  return (bridge, place) =>
    connectByCode(io, { bridge, place }, { user, way, openBrowser: open, timeoutSeconds });
}

/** The first of `options` that is set. */
const givenOf = (options: OptionSpecs, given: Readonly<Record<string, unknown>>): string | undefined =>
  Object.keys(options).find((name) => given[name] !== undefined && given[name] !== false);

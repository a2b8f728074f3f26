import * as v from 'valibot';
import { bridgeName } from '../../../shared/contract/events.ts';
import { partnerBaseUrl } from '../../../shared/contract/settings.ts';
import { type Application, Secret } from '../../../shared/domain/secret.ts';
import type { Bridge } from '../../operations/bridge.ts';
import { checkApplication, storeApplication } from '../../operations/connect-functions.ts';
import { failed } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { explained } from '../shared/explain.ts';
import { checkedOptions, flag, option, text } from '../shared/options.ts';
import { readSecret } from '../shared/secret-input.ts';
import type { Target } from '../shared/target.ts';

const clientIdText = v.pipe(
  v.string("expected the application's client ID"),
  v.trim(),
  v.regex(/^[\x21-\x7e]{1,256}$/, 'expected 1 to 256 visible characters'),
);
const baseUrlHelp =
  'where the partner service is (required with --local; a stack has it as setting partnerBaseUrl)';

export const addApplication = defineCommand(
  {
    help: `store the application's credentials
Again: replaces them. Partner accounts stay connected; a running bridge takes the new ones within five
minutes.

Examples:
  $0 application --local .advert-bridge \\
    --base-url https://partner.example --client-id my-client \\
    --client-secret-stdin --check
On a terminal, --client-secret-stdin asks for the secret, and does not show it.`,
    options: {
      clientId: option('ID', "the application's client ID (required)", clientIdText),
      clientSecretStdin: flag('read the client secret from standard input'),
      clientSecretFile: text('FILE', 'read the client secret from FILE'),
      baseUrl: { ...option('URL', baseUrlHelp, v.optional(partnerBaseUrl)), localOnly: true },
      name: {
        ...option('NAME', 'name of the bridge in its events (default: a random one)', v.optional(bridgeName)),
        localOnly: true,
      },
      check: flag('store them only if the partner service accepts them'),
    },
  },
  async ({ io, target, options, report, command }) => {
    const { clientId, baseUrl, name, clientSecretStdin: fromStdin, clientSecretFile: file, check } = options;
    const isLocal = target.kind === 'local';
    if (isLocal) checkedOptions({ baseUrl: { schema: partnerBaseUrl } }, options);
    const source = { what: 'client secret', option: '--client-secret', fromStdin, file };
    const clientSecret = await readSecret(io, source);
    const application = { clientId: new Secret(clientId), clientSecret };
    await withBridge(
      target,
      async (bridge) => {
        if (check) await checkBefore(bridge, application, { target, baseUrl });
        await storeApplication(bridge, application, baseUrl, name);
      },
      { create: true },
    );
    const stored = `Stored the application's credentials in ${isLocal ? target.dir : `stack ${target.stack}`}.`;
    return report(
      {
        clientId,
        ...(isLocal && { baseUrl }),
        stored: true,
        ...(name !== undefined && { bridge: name }),
        ...(check && { accepted: true }),
      },
      check ? `The partner service accepts them. ${stored}` : stored,
      ...(name === undefined ? [] : [nameText(name)]),
      `Next: ${command('connect NAME')}`,
    );
  },
);

const nameText = (name: string): string =>
  `From the next run on, events name the bridge ${name}. If it had another name, subscribers begin a new history.`;

/** @throws {CommandError} that says why nothing was stored */
async function checkBefore(
  bridge: Bridge,
  application: Application,
  { target, baseUrl }: { readonly target: Target; readonly baseUrl: string | undefined },
): Promise<void> {
  try {
    await checkApplication(bridge, application, baseUrl);
  } catch (error) {
    throw failed('not-stored', { why: explained(error, target, baseUrl).message }, { cause: error });
  }
}

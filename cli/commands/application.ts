import * as v from 'valibot';
import { askFor } from '../../operations/connect-functions.ts';
import { partnerBaseUrl } from '../../shared/contract/settings.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { say } from '../shared/io.ts';
import { checkedOptions, flag, option, text } from '../shared/options.ts';
import { readSecret } from '../shared/secret-input.ts';

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
  advert-bridge application --local .advert-bridge \\
    --base-url https://partner.example --client-id my-client \\
    --client-secret-stdin < client-secret.txt`,
    options: {
      clientId: option('ID', "the application's client ID (required)", clientIdText),
      clientSecretStdin: flag('read the client secret from standard input'),
      clientSecretFile: text('FILE', 'read the client secret from FILE'),
      baseUrl: { ...option('URL', baseUrlHelp, v.optional(partnerBaseUrl)), localOnly: true },
      check: flag('then ask the partner service whether it accepts the credentials'),
    },
  },
  async ({ io, target, options, report, command }) => {
    const { clientId, baseUrl, clientSecretStdin: fromStdin, clientSecretFile: file, check } = options;
    const isLocal = target.kind === 'local';
    if (isLocal) checkedOptions({ baseUrl: { schema: partnerBaseUrl } }, options);
    const source = { what: 'client secret', option: '--client-secret', fromStdin, file };
    const clientSecret = await readSecret(io, source);
    const stored = `Stored the application's credentials in ${isLocal ? target.dir : `stack ${target.stack}`}.`;
    await withBridge(
      target,
      async (bridge) => {
        await bridge.storeApplication({ clientId: new Secret(clientId), clientSecret }, baseUrl);
        if (!check) return;
        // They stay stored, whatever the service says.
        say(io, stored);
        await askFor(bridge, 'accepted', { action: 'check' });
      },
      { create: true },
    );
    return report(
      { clientId, ...(isLocal && { baseUrl }), stored: true, ...(check && { accepted: true }) },
      check ? 'The partner service accepts them.' : stored,
      `Next: ${command('connect NAME')}`,
    );
  },
);

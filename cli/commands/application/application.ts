import * as v from 'valibot';
import { UsageError } from '../../../operations/errors.ts';
import { partnerBaseUrl } from '../../../shared/contract/settings.ts';
import type { ApplicationInput } from '../../shared/bridge.ts';
import { checkedOptions } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { exitCodes, give, type Io, say } from '../../shared/io.ts';
import { checkSecretSource, readSecret } from '../../shared/secret-input.ts';
import { commandFor, type TargetOptions, targetOf, withJson, withTarget } from '../../shared/target.ts';
import { withBridge } from '../../targets/open-bridge.ts';

const help = `
Examples:
  advert-bridge application --local .advert-bridge --base-url https://partner.example \\
    --client-id my-client --client-secret-stdin < client-secret.txt
  advert-bridge application --client-id my-client --client-secret-file client-secret.txt --check   (the deployed stack)

A bridge that runs takes new credentials up by itself: at the latest after five minutes, at once when the old ones are
rejected.`;

export const addApplication: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('application')))
    .summary("store the application's credentials")
    .description(
      'Stores the credentials that the partner service gave the application. Again: replaces them; partner accounts stay connected.',
    )
    .option('--client-id <ID>', "the application's client ID (required)")
    .option('--client-secret-stdin', 'the client secret is on standard input')
    .option('--client-secret-file <FILE>', 'the client secret is in FILE')
    .option(
      '--base-url <URL>',
      'where the partner service is (with --local, required; a stack has it as a setting)',
    )
    .option(
      '--check',
      'ask the partner service for a token of the application itself, to see whether it takes them',
    )
    .addHelpText('after', help)
    .action(async (options: ApplicationOptions) => {
      await storeApplication(io, options);
      end(exitCodes.done);
    });

interface ApplicationOptions extends TargetOptions {
  readonly clientId?: string;
  readonly clientSecretStdin?: boolean;
  readonly clientSecretFile?: string;
  readonly baseUrl?: string;
  readonly check?: boolean;
  readonly json?: boolean;
}

const clientId = v.pipe(
  v.string("expected the application's client ID"),
  v.trim(),
  v.regex(/^[\x21-\x7e]{1,256}$/, 'expected 1 to 256 visible characters'),
);

async function storeApplication(io: Io, options: ApplicationOptions): Promise<void> {
  const target = targetOf(options);
  const isLocal = target.kind === 'local';
  if (!isLocal && options.baseUrl !== undefined) {
    throw new UsageError(
      '--base-url is for --local DIR: a stack has it as its setting partnerBaseUrl (npx cdk deploy -c partnerBaseUrl=URL)',
    );
  }
  const given: Omit<ApplicationInput, 'clientSecret'> = isLocal
    ? checkedOptions({ clientId, baseUrl: partnerBaseUrl }, { ...options })
    : checkedOptions({ clientId }, { ...options });
  const source = {
    what: 'client secret',
    option: '--client-secret',
    fromStdin: options.clientSecretStdin,
    file: options.clientSecretFile,
  };
  checkSecretSource(source);
  const clientSecret = await readSecret(io, source);

  const accepted = await withBridge(
    target,
    async (bridge) => {
      await bridge.storeApplication({ ...given, clientSecret });
      return options.check ? bridge.checkApplication() : undefined;
    },
    { create: true },
  );

  if (options.json) give(io, { ...given, stored: true, ...(accepted ? { accepted: true } : {}) });
  else {
    const where = isLocal ? target.dir : `stack ${target.stack}`;
    say(io, `Stored the application's credentials in ${where}.`);
    if (accepted) say(io, 'The partner service takes them.');
    say(io, `Next: \`${commandFor(target, 'connect NAME')}\``);
  }
}

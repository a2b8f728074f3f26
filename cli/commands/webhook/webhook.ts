import { shownUrl } from '../../../embedded/webhooks/delivery.ts';
import { webhookSecret } from '../../../embedded/webhooks/signature.ts';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import { checkedOptions } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { exitCodes, give, type Io, say } from '../../shared/io.ts';
import { readSecret } from '../../shared/secret-input.ts';
import { commandFor, targetOf, withJson } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';
import { withLocalState } from '../../targets/open-bridge.ts';
import { webhookUrl } from '../run/options.ts';

const help = `
Every event is signed by Standard Webhooks (https://www.standardwebhooks.com): headers webhook-id (the eventId),
webhook-timestamp and webhook-signature. The secret is whsec_ and 24 to 64 random bytes in Base64; the subscriber gets the
same. Stored again, it replaces the one before: what waits is signed with the new one.

Examples:
  openssl rand -base64 32 > webhook-secret.txt
  advert-bridge webhook https://example.org/adverts --local .advert-bridge --secret-file webhook-secret.txt
  advert-bridge run --local .advert-bridge --webhook https://example.org/adverts
  advert-bridge webhook --local .advert-bridge                      (shows what waits for each)
  advert-bridge webhook https://example.org/adverts --local .advert-bridge --forget`;

export const addWebhook: AddCommand = (program, io, end) =>
  withJson(
    program
      .command('webhook')
      .summary('store the secret of a webhook, or show what waits for it')
      .description(
        'Stores the secret that the events of a webhook are signed with; without one, shows what waits for each webhook. ' +
          'For the embedded bridge: subscribers of a deployed stack put rules on its bus.',
      )
      .argument('[URL]', 'where the events go')
      .option('--local <DIR>', 'the folder of the embedded bridge (required)')
      .option('--secret-stdin', 'the secret is on standard input')
      .option('--secret-file <FILE>', 'the secret is in FILE')
      .option('--secret-env <NAME>', 'the secret is in the environment variable NAME')
      .option('--forget', 'remove the secret and what waits for the webhook'),
  )
    .addHelpText('after', help)
    .action(async (url: string | undefined, options: WebhookOptions) => {
      await webhook(io, url, options);
      end(exitCodes.done);
    });

interface WebhookOptions {
  readonly local?: string;
  readonly secretStdin?: boolean;
  readonly secretFile?: string;
  readonly secretEnv?: string;
  readonly forget?: boolean;
  readonly json?: boolean;
}

async function webhook(io: Io, given: string | undefined, options: WebhookOptions): Promise<void> {
  const { local, secretStdin, secretFile, secretEnv, forget = false } = options;
  if (local === undefined) {
    throw new UsageError(
      '--local DIR is needed: the folder of the embedded bridge. Subscribers of a deployed stack put rules on its bus',
    );
  }
  const target = targetOf({ local });
  if (target.kind !== 'local') return;
  const givesSecret = secretStdin || secretFile !== undefined || secretEnv !== undefined;
  if (given === undefined) {
    if (givesSecret || forget) throw new UsageError('URL is missing: which webhook is meant');
    return showAll(io, target, options);
  }
  const { url } = checkedOptions({ url: webhookUrl }, { url: given }, { url: 'URL' });
  if (forget) {
    if (givesSecret) throw new UsageError('--forget takes no secret');
    const events = await withLocalState(target, ({ outbox }) => outbox.forget(url));
    if (options.json) give(io, { webhook: url, forgotten: true, events });
    else say(io, `Forgot ${shownUrl(url)}, and ${count(events)} events that waited for it.`);
    return;
  }
  const secret = webhookSecret(
    await readSecret(io, {
      what: 'webhook secret',
      option: '--secret',
      fromStdin: secretStdin,
      ...(secretFile === undefined ? {} : { file: secretFile }),
      ...(secretEnv === undefined ? {} : { env: secretEnv }),
    }),
  );
  if (!secret) {
    throw new CommandError(
      'the webhook secret has to be whsec_ and 24 to 64 random bytes in Base64, such as `openssl rand -base64 32` ' +
        'gives. Nothing was stored',
    );
  }
  await withLocalState(target, ({ outbox }) => outbox.secrets.write(url, secret));
  if (options.json) give(io, { webhook: url, stored: true });
  else {
    say(io, `Stored the secret of ${shownUrl(url)}.`);
    say(io, `Next: \`${commandFor(target, `run --webhook ${shownUrl(url)}`)}\``);
  }
}

type LocalTarget = Parameters<typeof withLocalState>[0];

async function showAll(io: Io, target: LocalTarget, { json = false }: WebhookOptions): Promise<void> {
  const webhooks = await withLocalState(target, async ({ outbox }) =>
    outbox.webhooks().map((url) => ({ url, ...outbox.counts(url) })),
  );
  if (json) {
    give(io, {
      webhooks: webhooks.map(({ url, waiting, oldest, givenUp }) => ({
        url,
        waiting,
        oldest: oldest === undefined ? null : toInstant(oldest),
        givenUp,
      })),
    });
    return;
  }
  if (webhooks.length === 0) say(io, 'No webhook is known.');
  for (const { url, waiting, oldest, givenUp } of webhooks) {
    const since = oldest === undefined ? '' : ` (the oldest since ${toInstant(oldest)})`;
    say(io, `${shownUrl(url)}: ${count(waiting)} events wait${since}, ${count(givenUp)} were given up`);
  }
}

import * as v from 'valibot';
import { webhookSecret } from '../../embedded/webhooks/request.ts';
import { CommandError, UsageError } from '../../operations/errors.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { shownUrl } from '../../shared/domain/text.ts';
import { webhookFormats } from '../../shared/sqlite/event-log.ts';
import { withBridge } from '../bridge/open.ts';
import { noSecretText, webhookCommand, webhookFrom, webhookUrl } from '../run/webhooks.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes } from '../shared/io.ts';
import { flag, option, text } from '../shared/options.ts';
import { readSecret } from '../shared/secret-input.ts';
import { count } from '../shared/wording.ts';

export const addWebhook = defineCommand(
  {
    summary: 'store the secret of a webhook, or show what waits for it',
    description:
      'Stores the secret that signs the events of a webhook. Without URL, shows what waits for each webhook. For an ' +
      'embedded bridge: subscribers of a deployed stack put rules on its bus.',
    more: `The secret is whsec_ and 24 to 64 random bytes in Base64
(https://www.standardwebhooks.com). To change it without a refused event: store the
new one with --keep-old, give it to the subscriber, and end with --drop-old.

Examples:
  openssl rand -base64 32 > webhook-secret.txt
  advert-bridge webhook https://example.org/adverts --local .advert-bridge --secret-file webhook-secret.txt
  advert-bridge webhook --local .advert-bridge   (what waits for each)`,
    where: { localOnly: 'Subscribers of a deployed stack put rules on its bus' },
    options: {
      url: { argument: '[URL]', help: 'where the events go', schema: v.optional(webhookUrl) },
      secretStdin: flag('read the secret from standard input'),
      secretFile: text('FILE', 'read the secret from FILE'),
      keepOld: flag('sign with the secret before, too, while the subscriber changes to the new one'),
      dropOld: flag('sign with the newest secret only'),
      format: option(
        'FORMAT',
        'event, as it is on a bus (default), or cloudevents: structured mode of CloudEvents 1.0',
        v.optional(v.picklist(webhookFormats, `expected ${webhookFormats.join(' or ')}`)),
      ),
      forget: flag('remove the secret, and what waits for the webhook'),
      webhookFile: text('FILE', 'the URL is in FILE: for a URL that contains a secret'),
    },
  },
  async ({ io, target, options, report, answer }) => {
    const url = await webhookFrom(io, { url: options.url, file: options.webhookFile });
    const { secretStdin: fromStdin, secretFile: file, forget, keepOld, dropOld, format } = options;
    const givesSecret = fromStdin || file !== undefined;
    const changes = keepOld || dropOld || format !== undefined;
    if (keepOld && (dropOld || !givesSecret)) throw new UsageError('--keep-old goes with a new secret alone');
    if (forget && (givesSecret || changes))
      throw new UsageError('--forget takes no secret and no other option');
    if (url === undefined) {
      if (givesSecret || changes || forget) throw new UsageError('URL is missing: which webhook is meant');
      const all = await withBridge(target, async ({ state: { webhooks } }) =>
        webhooks.list().map(({ url: each, waiting, oldest, givenUp }) => {
          const { secrets = [], format = 'event' } = webhooks.signing(each) ?? {};
          const since = oldest === undefined ? null : toInstant(oldest);
          return { url: shownUrl(each), waiting, oldest: since, givenUp, format, secrets: secrets.length };
        }),
      );
      const lines = all.map(({ url, waiting, oldest, givenUp, format, secrets }) =>
        [
          `${url}: ${count(waiting)} events wait${oldest === null ? '' : ` (the oldest since ${oldest})`}`,
          `${count(givenUp)} were given up`,
          ...(format === 'event' ? [] : [`format ${format}`]),
          ...(secrets > 1 ? ['signed with two secrets'] : []),
        ].join(', '),
      );
      answer({ webhooks: all }, ...(all.length === 0 ? ['No webhook is known.'] : lines));
      return exitCodes.done;
    }
    const webhook = shownUrl(url);
    if (forget) {
      const events = await withBridge(target, async ({ state }) => state.webhooks.forget(url));
      const said = `Forgot ${webhook}, and ${count(events)} events that waited for it.`;
      report({ webhook, forgotten: true, events }, said);
      return exitCodes.done;
    }
    const given = { what: 'webhook secret', option: '--secret', fromStdin, file };
    const secret = givesSecret || !changes ? webhookSecret(await readSecret(io, given)) : 'kept';
    if (!secret) {
      throw new CommandError(
        'the webhook secret has to be whsec_ and 24 to 64 random bytes in Base64, such as `openssl rand -base64 32` ' +
          'gives. Nothing was stored',
      );
    }
    await withBridge(target, async ({ state: { webhooks } }) => {
      if (secret !== 'kept') await webhooks.writeSecret(url, secret, { keepOld });
      else if (!webhooks.signing(url)) throw new CommandError(noSecretText(target, url));
      if (dropOld) await webhooks.dropOldSecret(url);
      if (format) await webhooks.writeFormat(url, format);
    });
    report(
      { webhook, stored: true },
      ...(secret === 'kept'
        ? []
        : [
            `Stored the secret of ${webhook}.`,
            `It gets the events of a run that names it: ${webhookCommand(target, url, (shown) => `run --webhook ${shown}`)}`,
          ]),
      ...(dropOld ? [`Events to ${webhook} are signed with the newest secret only.`] : []),
      ...(format ? [`Events to ${webhook} are sent in the format ${format}.`] : []),
    );
    return exitCodes.done;
  },
);

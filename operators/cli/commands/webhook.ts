import * as v from 'valibot';
import { kindOfReader, shownUrl, webhookFormats } from '../../../embedded/state/event-log.ts';
import type { Webhooks } from '../../../embedded/state/webhooks.ts';
import { webhookSecret } from '../../../embedded/webhooks/request.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import { failed, UsageError } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import { eventBusArn, requireSecrets, webhookCommand, webhookFrom, webhookUrl } from '../run/webhooks.ts';
import { defineCommand } from '../shared/command.ts';
import { flag, option, text } from '../shared/options.ts';
import { readSecret } from '../shared/secret-input.ts';
import { count, factTable } from '../shared/wording.ts';

const urlOrArn = v.lazy((text) => (String(text).startsWith('arn:') ? eventBusArn : webhookUrl));
const formatText = v.picklist(webhookFormats, `expected ${webhookFormats.join(' or ')}`);
const formatHelp = 'event, as it is on a bus (default), or cloudevents: structured mode of CloudEvents 1.0';

export const addWebhook = defineCommand(
  {
    help: `store the secret of a webhook, or show what waits for it
The secret signs its events. Without URL, shows what waits for each webhook. For an embedded bridge:
subscribers of a deployed stack put rules on its bus.

The secret is whsec_ and 24 to 64 random bytes in Base64 (https://www.standardwebhooks.com). To change it
without a refused event: store the new one with --keep-old, give it to the subscriber, and end with
--drop-old.

Examples:
  openssl rand -base64 32 > webhook-secret.txt
  $0 webhook https://example.org/adverts --local .advert-bridge --secret-file webhook-secret.txt
  $0 webhook --local .advert-bridge   (what waits for each)`,
    where: 'local',
    options: {
      url: {
        argument: '[URL]',
        help: 'where the events go; for --forget also the ARN of an event bus',
        schema: v.optional(urlOrArn),
      },
      secretStdin: flag('read the secret from standard input'),
      secretFile: text('FILE', 'read the secret from FILE'),
      keepOld: flag(
        'sign with the secret before, too, while the subscriber changes to the new one',
        'dropOld',
      ),
      dropOld: flag('sign with the newest secret only'),
      format: option('FORMAT', formatHelp, v.optional(formatText)),
      forget: flag(
        'remove the secret, and what waits for the webhook',
        ...['secretStdin', 'secretFile', 'keepOld', 'dropOld', 'format'],
      ),
      webhookFile: text('FILE', 'the URL is in FILE: for a URL that contains a secret'),
    },
  },
  async ({ io, target, options, report, answer, command }) => {
    const url = await webhookFrom(io, { url: options.url, file: options.webhookFile });
    const { secretStdin: fromStdin, secretFile: file, forget, keepOld, dropOld, format } = options;
    const givesSecret = fromStdin || file !== undefined;
    const changes = keepOld || dropOld || format !== undefined;
    if (keepOld && !givesSecret) throw new UsageError('--keep-old goes with a new secret alone');
    if (url === undefined) {
      if (givesSecret || changes || forget) throw new UsageError('URL is missing: which webhook is meant');
      const all = await withBridge(target, async ({ state }) => waitingFor(state.webhooks));
      return answer({ webhooks: all }, ...(all.length === 0 ? ['No webhook is known.'] : factTable(all)));
    }
    const webhook = shownUrl(url);
    if (forget) {
      const [isKnown, events] = await withBridge(target, async ({ state: { webhooks } }) => [
        webhooks.list().some((known) => known.url === url),
        await webhooks.forget(url),
      ]);
      const said = isKnown
        ? `Forgot ${webhook}, and ${count(events)} events that waited for it.`
        : `Nothing was known of ${webhook}: ${command('webhook')} lists what is.`;
      return report({ webhook, forgotten: true, events }, said);
    }
    if (kindOfReader(url) === 'event bus')
      throw new UsageError(
        'an event bus has no secret: AWS credentials sign what `run --event-bus ARN` publishes',
      );
    const given = { what: 'webhook secret', option: '--secret', fromStdin, file };
    const isNew = givesSecret || !changes;
    const secret = isNew ? webhookSecret(await readSecret(io, given)) : undefined;
    if (isNew && !secret) throw failed('bad-webhook-secret');
    const all = await withBridge(target, async ({ state: { webhooks } }) => {
      if (!isNew) requireSecrets(webhooks, [url], target);
      await webhooks.setUp(url, { secret, keepOld: isNew ? keepOld : !dropOld, format });
      return waitingFor(webhooks);
    });
    const run = webhookCommand(target, 'run --webhook URL');
    const said = `Stored for ${webhook}, which gets the events of a run that names it: ${run}`;
    return report({ webhook, stored: true }, said, ...factTable(all));
  },
);

const waitingFor = (webhooks: Webhooks) =>
  webhooks.list().map(({ url, waiting, oldest, givenUp }) => {
    const { secrets = [], format = 'event' } = webhooks.signing(url) ?? {};
    const since = oldest === undefined ? null : toInstant(oldest);
    return { url: shownUrl(url), waiting, oldest: since, givenUp, format, secrets: secrets.length };
  });

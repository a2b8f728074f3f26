import * as v from 'valibot';
import { webhookSecret } from '../../../embedded/webhooks/signature.ts';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes } from '../../shared/io.ts';
import { flag, text } from '../../shared/options.ts';
import { readSecret } from '../../shared/secret-input.ts';
import { withLocal } from '../../targets/open.ts';
import { webhookUrl } from '../run/options.ts';
import { allLines, forgottenText, more, storedLines } from './text.ts';

export const addWebhook = defineCommand(
  {
    name: 'webhook',
    summary: 'store the secret of a webhook, or show what waits for it',
    description:
      'Stores the secret that signs the events of a webhook. Without URL, shows what waits for each webhook. For an ' +
      'embedded bridge: subscribers of a deployed stack put rules on its bus.',
    more,
    where: { localOnly: 'Subscribers of a deployed stack put rules on its bus' },
    argument: { syntax: '[URL]', help: 'where the events go', schema: v.optional(webhookUrl) },
    options: {
      secretStdin: flag('read the secret from standard input'),
      secretFile: text('FILE', 'read the secret from FILE'),
      forget: flag('remove the secret, and what waits for the webhook'),
    },
  },
  async ({ io, target, argument: url, options, report }) => {
    const { secretStdin: fromStdin, secretFile: file, forget } = options;
    const givesSecret = fromStdin || file !== undefined;
    if (url === undefined) {
      if (givesSecret || forget) throw new UsageError('URL is missing: which webhook is meant');
      const all = await withLocal(target, async ({ state: { outbox } }) =>
        outbox.webhooks().map((each) => {
          const { waiting, oldest, givenUp } = outbox.counts(each);
          return { url: each, waiting, oldest: oldest === undefined ? null : toInstant(oldest), givenUp };
        }),
      );
      report({ webhooks: all }, ...allLines(all));
    } else if (forget) {
      if (givesSecret) throw new UsageError('--forget takes no secret');
      const events = await withLocal(target, async ({ state }) => state.outbox.forget(url));
      report({ webhook: url, forgotten: true, events }, forgottenText(url, events));
    } else {
      const given = { what: 'webhook secret', option: '--secret', fromStdin, file };
      const secret = webhookSecret(await readSecret(io, given));
      if (!secret) {
        throw new CommandError(
          'the webhook secret has to be whsec_ and 24 to 64 random bytes in Base64, such as `openssl rand -base64 32` ' +
            'gives. Nothing was stored',
        );
      }
      await withLocal(target, async ({ state }) => state.outbox.secrets.write(url, secret));
      report({ webhook: url, stored: true }, ...storedLines(target, url));
    }
    return exitCodes.done;
  },
);

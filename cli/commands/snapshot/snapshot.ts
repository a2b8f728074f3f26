import * as v from 'valibot';
import { shownUrl } from '../../../embedded/webhooks/delivery.ts';
import { UsageError } from '../../../operations/errors.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import { checkedOptions } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { explained } from '../../shared/explain.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../../shared/io.ts';
import { startProgress } from '../../shared/progress.ts';
import {
  commandFor,
  type Target,
  type TargetOptions,
  targetOf,
  withJson,
  withTarget,
} from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';
import { withLocalState } from '../../targets/open-bridge.ts';
import { webhookUrl } from '../run/options.ts';
import { secretsOf } from '../run/webhooks.ts';

const help = `
For a subscriber that begins, or has lost what it had. Each event is as it was recorded, with the eventId that it had, and goes
to this one subscriber and no other. Nothing is asked of the partner service. May be done again: the events are the same. The
subscriber applies an event only when its (generation, sequence) is greater than the one it has, so that live events may come
before, between and after: begin to subscribe first, then take the snapshot.

To a queue the events go as EventBridge would have put them there; to a bus as events of the same source and detail type.
With --local they go to standard output, one a line; with --webhook they are stored for the webhook, and \`run --webhook\` sends them.

Examples:
  advert-bridge snapshot --to https://sqs.eu-central-1.amazonaws.com/111122223333/search-adverts
  advert-bridge snapshot main --to arn:aws:sqs:eu-central-1:111122223333:search-adverts
  advert-bridge snapshot --to arn:aws:events:eu-central-1:444455556666:event-bus/search
  advert-bridge snapshot --local .advert-bridge > adverts.ndjson
  advert-bridge snapshot --local .advert-bridge --webhook https://example.org/adverts`;

export const addSnapshot: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('snapshot')))
    .summary("send every advert's latest event to one subscriber")
    .description("Sends every advert's latest event, as it was recorded, to one subscriber and no other.")
    .argument('[NAME]', 'only adverts of this partner account')
    .option('--to <QUEUE|BUS>', 'URL or ARN of an SQS queue, or ARN of an event bus (of a stack; required)')
    .option('--webhook <URL>', 'the webhook of a subscriber (with --local)')
    .addHelpText('after', help)
    .action(async (name: string | undefined, options: SnapshotOptions) =>
      end(await snapshot(io, name, options)),
    );

interface SnapshotOptions extends TargetOptions {
  readonly to?: string;
  readonly webhook?: string;
  readonly json?: boolean;
}

async function snapshot(io: Io, given: string | undefined, options: SnapshotOptions): Promise<ExitCode> {
  const target = targetOf(options);
  const { name, webhook } = checkedOptions(
    { name: v.optional(partnerAccountName), webhook: v.optional(webhookUrl) },
    { name: given, webhook: options.webhook },
    { name: 'NAME' },
  );
  const signal = io.untilStopped();
  let sent = 0;
  const progress = startProgress(io, async () => `${count(sent)} events sent`);
  const onSent = (now: number) => {
    sent = now;
  };
  try {
    await send(io, target, { ...options, webhook }, { name, signal, onSent });
  } finally {
    progress.stop();
  }
  tell(io, target, { ...options, webhook }, sent, signal.aborted);
  return signal.aborted ? exitCodes.needsPerson : exitCodes.done;
}

type Details = Parameters<typeof import('../../../operations/snapshot.ts').snapshotStack>[2];

async function send(
  io: Io,
  target: Target,
  { to, webhook, json }: SnapshotOptions & { webhook: string | undefined },
  details: Details,
) {
  if (target.kind === 'stack') {
    if (webhook !== undefined) {
      throw new UsageError('--webhook is for --local DIR: a stack sends to a queue or a bus (--to)');
    }
    const { checkTarget, expectedTarget } = await import('../../../operations/snapshot-target.ts');
    if (to === undefined) throw new UsageError(expectedTarget);
    checkTarget(to);
    const { snapshotStack } = await import('../../../operations/snapshot.ts');
    try {
      return await snapshotStack(target.stack, to, details);
    } catch (error) {
      throw explained(error, { target });
    }
  }
  if (to !== undefined) {
    throw new UsageError(
      '--to is for a stack: an embedded bridge writes to standard output, or to --webhook',
    );
  }
  if (json && webhook === undefined) {
    throw new UsageError('--json goes with --webhook: the events themselves go to standard output');
  }
  const { snapshotToLines, snapshotToOutbox } = await import('../../../operations/snapshot.ts');
  return withLocalState(target, async (state) => {
    if (webhook === undefined) return snapshotToLines(state, io.stdout, details);
    secretsOf(state.outbox, [webhook], target);
    return snapshotToOutbox(state, webhook, details);
  });
}

function tell(
  io: Io,
  target: Target,
  { to, webhook, json = false }: SnapshotOptions,
  sent: number,
  stopped: boolean,
): void {
  if (json) give(io, { sent, finished: !stopped, ...(to === undefined ? { webhook } : { to }) });
  else if (stopped)
    say(io, `Stopped after ${count(sent)} events. Do the same again: the events are the same.`);
  else if (webhook !== undefined) {
    say(io, `${count(sent)} events wait for ${shownUrl(webhook)}.`);
    say(io, `Next: \`${commandFor(target, `run --webhook ${shownUrl(webhook)}`)}\``);
  } else say(io, `${count(sent)} events sent${to === undefined ? '' : ` to ${to}`}.`);
}

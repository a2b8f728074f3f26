/** Replays of the bus's archive. Loads the AWS SDK, so it is imported only when it is meant. */
import { randomBytes } from 'node:crypto';
import {
  type Archive,
  CancelReplayCommand,
  DescribeReplayCommand,
  type DescribeReplayResponse,
  type EventBridgeClient,
  ListArchivesCommand,
  ListRulesCommand,
  StartReplayCommand,
} from '@aws-sdk/client-eventbridge';
import { eventBridgeClient } from '../shared/aws/clients.ts';
import { toInstant } from '../shared/domain/clock.ts';
import { CommandError, UsageError } from './errors.ts';
import { readStackOutputs } from './stack-outputs.ts';

export interface ReplayRequest {
  readonly stack: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Name or ARN of the subscriber's rule; `every`: all rules on the bus. */
  readonly rule: string | { readonly every: true };
  /** Which archive, where the bus has several. */
  readonly archive: string | undefined;
}

export interface StartedReplay {
  readonly name: string;
  /** Why the replay may lack events. */
  readonly warning: string | undefined;
}

const dayMs = 86_400_000;
const ruleArn = /^arn:[a-z-]+:events:[a-z0-9-]+:\d{12}:rule\/.+$/;

/** Starts, follows and cancels replays on the bus of a stack; call `close` when done. */
export async function openReplays(stack: string) {
  const { eventBusArn, eventBusName } = await readStackOutputs(stack);
  const client = eventBridgeClient();

  async function start({ fromMs, toMs, rule, archive: named }: ReplayRequest): Promise<StartedReplay> {
    const archive = await archiveOf(client, eventBusArn, named);
    const filter = typeof rule === 'string' ? [await ruleOf(client, eventBusName, rule)] : undefined;
    const name = `advert-bridge-${toInstant(Date.now()).replace(/\D/g, '')}-${randomBytes(3).toString('hex')}`;
    await client.send(
      new StartReplayCommand({
        ReplayName: name,
        Description: 'advert-bridge replay',
        EventSourceArn: archiveArnOf(eventBusArn, archive),
        EventStartTime: new Date(fromMs),
        EventEndTime: new Date(toMs),
        Destination: { Arn: eventBusArn, ...(filter ? { FilterArns: filter } : {}) },
      }),
    );
    return { name, warning: warningOf(archive, fromMs) };
  }

  return {
    start,
    describe: (name: string): Promise<DescribeReplayResponse> =>
      client.send(new DescribeReplayCommand({ ReplayName: name })).catch((cause: unknown) => {
        if (!(cause instanceof Error) || cause.name !== 'ResourceNotFoundException') throw cause;
        throw new CommandError(`there is no replay ${name}`, { cause });
      }),
    cancel: (name: string) => client.send(new CancelReplayCommand({ ReplayName: name })),
    close: () => client.destroy(),
  };
}

async function archiveOf(
  client: EventBridgeClient,
  eventBusArn: string,
  named: string | undefined,
): Promise<Archive> {
  const all: Archive[] = [];
  for (let from: string | undefined; ; ) {
    const { Archives = [], NextToken } = await client.send(
      new ListArchivesCommand({ EventSourceArn: eventBusArn, NextToken: from }),
    );
    all.push(...Archives);
    if (!NextToken) break;
    from = NextToken;
  }
  const names = all.map(({ ArchiveName }) => ArchiveName).join(', ');
  if (named !== undefined) {
    const found = all.find(({ ArchiveName }) => ArchiveName === named);
    if (found) return found;
    throw new CommandError(`the bus has no archive of that name. Its archives: ${names || 'none'}`);
  }
  const [only, ...others] = all;
  if (!only) {
    throw new CommandError(
      `the bus ${eventBusArn} has no archive, so there is nothing to replay. Deploy the stack again with \`npx cdk deploy\``,
    );
  }
  if (others.length > 0)
    throw new UsageError(`the bus has several archives: give one with --archive: ${names}`);
  return only;
}

const archiveArnOf = (eventBusArn: string, { ArchiveName }: Archive): string =>
  eventBusArn.replace(/:event-bus\/.*$/, `:archive/${ArchiveName}`);

async function ruleOf(client: EventBridgeClient, EventBusName: string, rule: string): Promise<string> {
  if (ruleArn.test(rule)) return rule;
  const rules = await rulesOf(client, EventBusName);
  const found = rules.find(({ Name }) => Name === rule);
  if (found?.Arn && found.State !== 'DISABLED') return found.Arn;
  if (found)
    throw new CommandError(`rule ${rule} is disabled: nothing would reach its subscriber. Enable it first`);
  const names = rules.filter(({ ManagedBy }) => !ManagedBy).map(({ Name }) => Name);
  throw new CommandError(
    `there is no rule of that name on bus ${EventBusName}. Its rules: ${names.join(', ') || 'none'}. One of another AWS ` +
      'account is given by its ARN',
  );
}

async function rulesOf(client: EventBridgeClient, EventBusName: string) {
  const rules = [];
  for (let from: string | undefined; ; ) {
    const { Rules = [], NextToken } = await client.send(
      new ListRulesCommand({ EventBusName, NextToken: from }),
    );
    rules.push(...Rules);
    if (!NextToken) return rules;
    from = NextToken;
  }
}

function warningOf({ RetentionDays = 0, CreationTime }: Archive, fromMs: number): string | undefined {
  const keptSince = RetentionDays === 0 ? 0 : Date.now() - RetentionDays * dayMs;
  if (fromMs < keptSince) {
    return `the archive keeps events for ${RetentionDays} days: those before ${toInstant(keptSince)} are gone`;
  }
  if (CreationTime && fromMs < CreationTime.getTime()) {
    return `the archive was made at ${CreationTime.toISOString()}: there are no events from before`;
  }
  return undefined;
}

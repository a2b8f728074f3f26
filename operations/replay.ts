/** Replays of the bus's archive. Loads the AWS SDK, so import it only when needed. */
import { randomBytes } from 'node:crypto';
import {
  type Archive,
  CancelReplayCommand,
  DescribeReplayCommand,
  type EventBridgeClient,
  ListArchivesCommand,
  ListRulesCommand,
  StartReplayCommand,
} from '@aws-sdk/client-eventbridge';
import { eventBridgeClient } from '../shared/aws/clients.ts';
import { systemClock, toInstant } from '../shared/domain/clock.ts';
import { allPages, pagesOf } from './all-pages.ts';
import { CommandError, UsageError } from './errors.ts';
import type { StackOutputs } from './stack-outputs.ts';

export interface ReplayRequest {
  readonly fromMs: number;
  readonly toMs: number;
  /** Name or ARN of the subscriber's rule; `every`: all rules on the bus. */
  readonly rule: string | { readonly every: true };
  /** Name of the archive, if the bus has several. */
  readonly archive: string | undefined;
}

export interface ReplayProgress {
  /** The state as EventBridge names it: `STARTING`, `RUNNING`, `COMPLETED` … */
  readonly state: string;
  readonly isOver: boolean;
  /** Time of the last replayed event. */
  readonly lastReplayed?: string | undefined;
}

const dayMs = 86_400_000;
const lookMs = 2_000;
const ruleArn = /^arn:[a-z-]+:events:[a-z0-9-]+:\d{12}:rule\/.+$/;

/** Starts, follows and cancels replays on the bus of a stack; call `close` when done. */
export function openReplays({ eventBusArn, eventBusName }: StackOutputs) {
  const client = eventBridgeClient();

  async function describe(name: string): Promise<ReplayProgress & { readonly reason: string | undefined }> {
    const found = await client
      .send(new DescribeReplayCommand({ ReplayName: name }))
      .catch((cause: unknown) => {
        if (!(cause instanceof Error) || cause.name !== 'ResourceNotFoundException') throw cause;
        throw new CommandError(`there is no replay ${name}`, { cause });
      });
    const { State: state = 'STARTING', StateReason: reason, EventLastReplayedTime } = found;
    return {
      state,
      isOver: state !== 'STARTING' && state !== 'RUNNING',
      reason,
      lastReplayed: EventLastReplayedTime?.toISOString(),
    };
  }

  return {
    /** @returns its name, and why it may lack events */
    async start({ fromMs, toMs, rule, archive: named }: ReplayRequest) {
      const archive = await archiveOf(client, eventBusArn, named);
      const filter = typeof rule === 'string' ? [await ruleOf(client, eventBusName, rule)] : undefined;
      const name = `advert-bridge-${toInstant(Date.now()).replace(/\D/g, '')}-${randomBytes(3).toString('hex')}`;
      await client.send(
        new StartReplayCommand({
          ReplayName: name,
          Description: 'advert-bridge replay',
          EventSourceArn: eventBusArn.replace(/:event-bus\/.*$/, `:archive/${archive.ArchiveName}`),
          EventStartTime: new Date(fromMs),
          EventEndTime: new Date(toMs),
          Destination: { Arn: eventBusArn, ...(filter ? { FilterArns: filter } : {}) },
        }),
      );
      return { name, warning: warningOf(archive, fromMs) };
    },

    /**
     * Follows a replay to its end.
     *
     * @returns undefined when `signal` was aborted first: the replay continues
     * @throws {CommandError} when it failed or was cancelled
     */
    async untilEnded(name: string, signal: AbortSignal, onProgress: (progress: ReplayProgress) => void) {
      for (;;) {
        const progress = await describe(name);
        onProgress(progress);
        if (progress.state === 'COMPLETED') return progress;
        if (progress.isOver) {
          const reason = progress.reason ? `: ${progress.reason}` : '';
          throw new CommandError(`replay ${name} ended early (${progress.state.toLowerCase()}${reason})`);
        }
        if (signal.aborted) return undefined;
        await systemClock.sleep(lookMs, signal);
      }
    },

    /** Cancels a replay unless it has ended. @returns its previous progress */
    async cancel(name: string): Promise<ReplayProgress> {
      const progress = await describe(name);
      if (!progress.isOver) await client.send(new CancelReplayCommand({ ReplayName: name }));
      return progress;
    },

    close: () => client.destroy(),
  };
}

async function archiveOf(
  client: EventBridgeClient,
  eventBusArn: string,
  named: string | undefined,
): Promise<Archive> {
  const pages = pagesOf((NextToken) =>
    client.send(new ListArchivesCommand({ EventSourceArn: eventBusArn, NextToken })),
  );
  const all = await allPages(pages, ({ Archives }) => Archives);
  const names = all.map(({ ArchiveName }) => ArchiveName).join(', ');
  const [found, ...others] =
    named === undefined ? all : all.filter(({ ArchiveName }) => ArchiveName === named);
  if (!found) {
    throw new CommandError(
      all.length > 0
        ? `the bus has no archive of that name. Its archives: ${names}`
        : `the bus ${eventBusArn} has no archive, so there is nothing to replay. Deploy the stack again with \`npx cdk deploy\``,
    );
  }
  if (others.length > 0)
    throw new UsageError(`the bus has several archives: give one with --archive: ${names}`);
  return found;
}

async function ruleOf(client: EventBridgeClient, EventBusName: string, rule: string): Promise<string> {
  if (ruleArn.test(rule)) return rule;
  const pages = pagesOf((NextToken) => client.send(new ListRulesCommand({ EventBusName, NextToken })));
  const rules = await allPages(pages, ({ Rules }) => Rules);
  const found = rules.find(({ Name }) => Name === rule);
  if (found?.Arn && found.State !== 'DISABLED') return found.Arn;
  if (found) {
    throw new CommandError(
      `rule ${rule} is disabled, so nothing would reach its subscriber. Enable it first`,
    );
  }
  const names = rules.filter(({ ManagedBy }) => !ManagedBy).map(({ Name }) => Name);
  throw new CommandError(
    `there is no rule of that name on bus ${EventBusName}. Its rules: ${names.join(', ') || 'none'}. Give a rule of ` +
      'another AWS account by its ARN',
  );
}

function warningOf({ RetentionDays = 0, CreationTime }: Archive, fromMs: number): string | undefined {
  const keptSince = RetentionDays === 0 ? 0 : Date.now() - RetentionDays * dayMs;
  if (fromMs < keptSince) {
    return `the archive keeps events for ${RetentionDays} days: those before ${toInstant(keptSince)} are gone`;
  }
  if (CreationTime && fromMs < CreationTime.getTime()) {
    return `the archive was made at ${CreationTime.toISOString()}: it has no earlier events`;
  }
  return undefined;
}

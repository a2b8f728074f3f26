import { setTimeout } from 'node:timers/promises';
import {
  CloudWatchLogsClient,
  GetQueryResultsCommand,
  type QueryStatus,
  StartQueryCommand,
} from '@aws-sdk/client-cloudwatch-logs';
import { CommandError } from '../../operations/errors.ts';

export interface GroupedLine {
  /** Ms since 1970. */
  readonly atMs: number;
  readonly group: string;
  readonly text: string;
}

/** Maximum number of lines to read, newest first. */
const maxLines = 500;
const lookMs = 500;
const maxWaitMs = 30_000;
const ended: readonly (QueryStatus | undefined)[] = ['Complete', 'Failed', 'Cancelled', 'Timeout', 'Unknown'];

/**
 * Searches log groups with Logs Insights, which searches the whole time range at once and returns the newest lines
 * first ($0.005 per gigabyte). `FilterLogEvents` would read it page by page, oldest lines first.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html
 */
export function createLogSearch() {
  const client = new CloudWatchLogsClient({
    maxAttempts: 4,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });

  /** @param words letters, digits, `-` and `_`; finds lines that contain one of them in quotes */
  async function search(
    groups: readonly string[],
    words: readonly string[],
    fromMs: number,
  ): Promise<GroupedLine[]> {
    const { queryId } = await client.send(
      new StartQueryCommand({
        logGroupNames: [...groups],
        startTime: Math.floor(fromMs / 1000),
        endTime: Math.ceil(Date.now() / 1000),
        queryString:
          'fields @timestamp, @message, @log ' +
          `| filter @message like /${words.map((word) => `"${word}"`).join('|')}/ ` +
          `| sort @timestamp desc | limit ${maxLines}`,
      }),
    );
    for (const beganAt = Date.now(); Date.now() - beganAt < maxWaitMs; await setTimeout(lookMs)) {
      const { status, results = [] } = await client.send(new GetQueryResultsCommand({ queryId }));
      if (status === 'Complete') return results.map((fields) => lineOf(fields));
      if (ended.includes(status))
        throw new CommandError(`the logs could not be searched: the query ended as ${status}. Try again`);
    }
    throw new CommandError(`the logs could not be searched within ${maxWaitMs / 1000} seconds. Try again`);
  }

  return { search, close: () => client.destroy() };
}

type ResultFields = readonly { readonly field?: string; readonly value?: string }[];

function lineOf(fields: ResultFields): GroupedLine {
  const textOf = (name: string) => fields.find(({ field }) => field === name)?.value ?? '';
  return {
    // Such as `2026-11-20 12:00:00.123`, in UTC.
    atMs: Date.parse(`${textOf('@timestamp').replace(' ', 'T')}Z`),
    // With the AWS account before it: `111122223333:/aws/lambda/…`.
    group: textOf('@log').replace(/^\d{12}:/, ''),
    text: textOf('@message'),
  };
}

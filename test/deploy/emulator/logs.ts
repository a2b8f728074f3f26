import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { awsAccount, region } from './cloud.ts';

/**
 * One call of CloudWatch Logs, made by hand because the emulator checks no signature, and the bridge needs no client
 * for it.
 */
async function ask<T>(endpoint: string, operation: string, body: object, tries = 5): Promise<T> {
  const scope = `${awsAccount}/20260101/${region}/logs/aws4_request`;
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `Logs_20140328.${operation}`,
      authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none`,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  // The emulator fails if a function creates a log group while it lists them.
  if (answer.status === 500 && tries > 1) {
    await answer.text();
    await setTimeout(200);
    return ask(endpoint, operation, body, tries - 1);
  }
  if (!answer.ok) throw new Error(`${operation}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

export interface LogEvent {
  readonly message: string;
  /** Ms since 1970. */
  readonly timestamp: number;
}

/** Log events of the functions, by log group. @param startTime ms since 1970: older events are not returned */
export async function logEvents(endpoint: string, startTime?: number): Promise<Map<string, LogEvent[]>> {
  const { logGroups } = await ask<{ logGroups: { logGroupName: string }[] }>(
    endpoint,
    'DescribeLogGroups',
    {},
  );
  const logs = new Map<string, LogEvent[]>();
  for (const { logGroupName } of logGroups) {
    const events: LogEvent[] = [];
    let nextToken: string | undefined;
    do {
      const page: { events: LogEvent[]; nextToken?: string } = await ask(endpoint, 'FilterLogEvents', {
        logGroupName,
        nextToken,
        startTime,
      });
      events.push(...page.events);
      nextToken = page.nextToken;
    } while (nextToken);
    logs.set(logGroupName, events);
  }
  return logs;
}

/** Everything that the functions have logged, by log group. */
export async function functionLogs(endpoint: string): Promise<Map<string, string[]>> {
  const logs = await logEvents(endpoint);
  return new Map([...logs].map(([name, events]) => [name, events.map(({ message }) => message.trimEnd())]));
}

/**
 * Start times (ms since 1970) of the invocations that took at least `durationMs`, from the line that reports each
 * one's end.
 */
export async function beginningsOfLong(endpoint: string, durationMs: number): Promise<number[]> {
  const events = [...(await logEvents(endpoint)).values()].flat();
  return events.flatMap(({ message, timestamp }) => {
    const tookMs = Number(/^REPORT .*\tDuration: (\d+) ms/.exec(message)?.[1] ?? 0);
    return tookMs >= durationMs ? [timestamp - tookMs] : [];
  });
}

/** The last lines of all logs, for finding the reason of a failure. */
export async function logTails(endpoint: string, logFile: string, lines = 25): Promise<string> {
  const parts: string[] = [];
  const add = (name: string, all: readonly string[]) => {
    if (all.length > 0) parts.push(`--- ${name}, last of ${all.length} lines`, ...all.slice(-lines));
  };
  for (const [name, all] of await functionLogs(endpoint).catch(() => new Map<string, string[]>()))
    add(name, all);
  const emulator = await readFile(logFile, 'utf8').catch(() => '');
  add('MiniStack', emulator.trimEnd().split('\n'));
  return parts.map((line) => (line.length > 2000 ? `${line.slice(0, 2000)}…` : line)).join('\n');
}

import { readFile } from 'node:fs/promises';
import { awsAccount, region } from './cloud.ts';

/** One call of CloudWatch Logs. By hand: the emulator checks no signature, and the bridge needs no client for it. */
async function ask<T>(endpoint: string, operation: string, body: object): Promise<T> {
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
  if (!answer.ok) throw new Error(`${operation}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Everything that the functions have logged, by log group. */
export async function functionLogs(endpoint: string): Promise<Map<string, string[]>> {
  const { logGroups } = await ask<{ logGroups: { logGroupName: string }[] }>(
    endpoint,
    'DescribeLogGroups',
    {},
  );
  const logs = new Map<string, string[]>();
  for (const { logGroupName } of logGroups) {
    const lines: string[] = [];
    let nextToken: string | undefined;
    do {
      const page: { events: { message: string }[]; nextToken?: string } = await ask(
        endpoint,
        'FilterLogEvents',
        {
          logGroupName,
          nextToken,
        },
      );
      lines.push(...page.events.map(({ message }) => message.trimEnd()));
      nextToken = page.nextToken;
    } while (nextToken);
    logs.set(logGroupName, lines);
  }
  return logs;
}

/** The ends of all logs, for whoever has to find out why. */
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

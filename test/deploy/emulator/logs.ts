import { open, readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { awsAccount, region } from './cloud.ts';
import type { MiniStack } from './ministack.ts';

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
  if (answer.ok) return (await answer.json()) as T;
  const text = await answer.text();
  // The emulator fails if a function creates a log group while it lists them.
  if (answer.status !== 500 || tries === 1) throw new Error(`${operation}: ${answer.status} ${text}`);
  await sleep(200);
  return ask(endpoint, operation, body, tries - 1);
}

/** What the functions have logged since `startTime` (ms since 1970), by log group. */
export async function functionLogs(endpoint: string, startTime?: number): Promise<Map<string, string[]>> {
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
        { logGroupName, nextToken, startTime },
      );
      lines.push(...page.events.map(({ message }) => message.trimEnd()));
      nextToken = page.nextToken;
    } while (nextToken);
    logs.set(logGroupName, lines);
  }
  return logs;
}

/** The last lines of all logs, for finding the reason of a failure. */
export async function logTails({ endpoint, logFile }: MiniStack): Promise<string> {
  const logs = await functionLogs(endpoint).catch(() => new Map<string, string[]>());
  logs.set('MiniStack', (await readFile(logFile, 'utf8').catch(() => '')).trimEnd().split('\n'));
  return [...logs]
    .filter(([, lines]) => lines.length > 0)
    .flatMap(([name, lines]) => [`--- ${name}, last of ${lines.length} lines`, ...lines.slice(-25)])
    .map((line) => (line.length > 2000 ? `${line.slice(0, 2000)}…` : line))
    .join('\n');
}

/** The current end of a file, in bytes. */
export const sizeOf = async (file: string): Promise<number> => (await stat(file)).size;

/** What was written to a file after its first `from` bytes. */
export async function textAfter(file: string, from: number): Promise<string> {
  const handle = await open(file);
  try {
    const length = (await handle.stat()).size - from;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

import type { Usage } from './bill.ts';

/** Bytes that CloudWatch Logs adds to each line. @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html */
const bytesBesideLine = 26;

/**
 * The two lines that Lambda writes for each invocation when logs are JSON, in the documented shape. Nothing here
 * writes them, so their length is calculated.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html
 */
const ofLambda = [
  '{"time":"2026-11-20T12:00:00.001Z","type":"platform.start","record":{"requestId":"6d68ca91-49c9-448d-89b8-7ca3e6dc66aa","version":"$LATEST"}}',
  '{"time":"2026-11-20T12:00:00.001Z","type":"platform.report","record":{"requestId":"6d68ca91-49c9-448d-89b8-7ca3e6dc66aa","metrics":{"durationMs":101.51,"billedDurationMs":102,"memorySizeMB":256,"maxMemoryUsedMB":120},"status":"success"}}',
];

export interface Captured {
  readonly lines: readonly string[];
  readonly metrics: ReadonlySet<string>;
}

/** Captures what `work` writes to standard output, which in Lambda is the log. */
export async function captured<T>(work: () => Promise<T>): Promise<{ result: T; log: Captured }> {
  const lines: string[] = [];
  const write = process.stdout.write;
  process.stdout.write = ((chunk: string | Uint8Array) => {
    lines.push(...String(chunk).split('\n').filter(Boolean));
    return true;
  }) as typeof write;
  try {
    const result = await work();
    return { result, log: { lines, metrics: metricsIn(lines) } };
  } finally {
    process.stdout.write = write;
  }
}

/** Names of the custom metrics in lines of the embedded metric format. */
function metricsIn(lines: readonly string[]): Set<string> {
  const metrics = new Set<string>();
  for (const line of lines) {
    for (const { Metrics } of JSON.parse(line)._aws?.CloudWatchMetrics ?? []) {
      for (const { Name } of Metrics) metrics.add(Name);
    }
  }
  return metrics;
}

export function logUsage({ lines }: Captured, invocations: number): Usage {
  const bytes = (texts: readonly string[]): number =>
    texts.reduce((sum, text) => sum + Buffer.byteLength(text) + bytesBesideLine, 0);
  return { logsIngested: bytes(lines) + invocations * bytes(ofLambda) };
}

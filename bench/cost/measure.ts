/** One measurement of what the deployed bridge uses, over the functions' real handlers. */
import {
  type FunctionName,
  type Handler,
  type Invocations,
  startAws,
} from '../../test/helpers/aws/played-aws.ts';
import { mergedCounts } from '../../test/helpers/aws/wire.ts';
import { lambdaUsage, sumOf, type Usage, usageOf } from './bill.ts';
import { captured, logUsage } from './logs.ts';
import type { StackFacts } from './stack.ts';

export interface Setting {
  readonly partnerAccounts: number;
  readonly changes: number;
  /** How long the partner service takes for an answer. */
  readonly latencyMs: number;
  readonly maxRequestsPerSecond: number;
}

export interface Measured {
  /** Of one poll of all feeds that finds nothing, by a function that is warm. */
  readonly idlePoll: Usage;
  /** Custom metrics that such a poll writes. */
  readonly idleMetrics: number;
  /** Of one scheduled run of refresh-token that has nothing to refresh. */
  readonly sweep: Usage;
  /** Of all changes: read by the drain in pages, handled by the fan-out in batches of ten. */
  readonly changes: Usage;
  readonly metrics: number;
  /** Of the fan-out. */
  readonly batchMs: readonly number[];
  readonly idlePollMs: number;
  /** By kind of call, of all changes together. */
  readonly calls: Invocations['calls'];
}

const queueBelievedMs = 5_100;

const loadHandler = async (name: FunctionName): Promise<Handler> =>
  (await import(`../../functions/${name}/handler.ts`)).handler;

/** Measures once in a process, because the functions keep state in their modules. */
export async function measure(
  { partnerAccounts, changes, latencyMs, maxRequestsPerSecond }: Setting,
  { memoryMb }: Pick<StackFacts, 'memoryMb'>,
): Promise<Measured> {
  const aws = await startAws({
    partnerAccounts,
    maxRequestsPerSecond,
    sandbox: { latencyMs },
    setEnvironment: (variables) => Object.assign(process.env, variables),
    loadHandler,
  });

  async function used(work: () => Promise<Invocations>, memory: number) {
    const { result, log } = await captured(work);
    const { calls, durationsMs } = result;
    const usage = sumOf(
      [1, usageOf(calls)],
      [1, lambdaUsage(durationsMs, memory)],
      [1, logUsage(log, durationsMs.length)],
    );
    return { usage, calls, durationsMs, metrics: log.metrics };
  }
  const drain = () => used(() => aws.invoke('drain'), memoryMb.drain);
  const fanOut = () => used(() => aws.fanOut(), memoryMb.fanOut);

  try {
    const { control } = aws.sandbox;
    // The first time everything is new: connections, tokens, rows.
    const ids = control.createAdverts(changes, { status: 'new' });
    await drain();
    await fanOut();
    await drain();
    for (const id of ids) control.setStatus(id, 'active');
    const before = aws.published();
    const [read, handled] = [await drain(), await fanOut()];
    const published = aws.published() - before;
    if (published !== changes) throw new Error(`${published} events of ${changes} changes`);
    await drain();
    // Later than the drain's cached queue depth is valid, as it is from one minute to the next.
    await new Promise((resolve) => setTimeout(resolve, queueBelievedMs));
    const idle = await drain();
    await used(() => aws.invoke('refresh-token'), memoryMb.refreshToken);
    const sweep = await used(() => aws.invoke('refresh-token'), memoryMb.refreshToken);
    return {
      idlePoll: idle.usage,
      idleMetrics: idle.metrics.size,
      sweep: sweep.usage,
      changes: sumOf([1, read.usage], [1, handled.usage]),
      metrics: new Set([...read.metrics, ...handled.metrics]).size,
      batchMs: handled.durationsMs,
      idlePollMs: idle.durationsMs[0] ?? Number.NaN,
      calls: mergedCounts(read.calls, handled.calls),
    };
  } finally {
    await aws.stop();
  }
}

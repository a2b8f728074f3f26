/**
 * Measures once what the deployed bridge uses, with the functions' real handlers, and prints it as the last line. Runs
 * in a process of its own, because the functions keep state in their modules.
 *
 * Usage: measure.ts SETTING (JSON)
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { storeAnswersMs } from '../../../functions/runtime/limits.ts';
import { type Invocations, startAws } from '../../../test/helpers/aws/played-aws.ts';
import { lambdaUsage, sumOf, type Usage, usageOf } from './bill.ts';
import { captured, logUsage } from './logs.ts';
import { type StackFacts, stackFacts } from './stack.ts';

export interface Setting {
  readonly partnerAccounts: number;
  readonly changes: number;
  /** Response time of the partner service. */
  readonly latencyMs: number;
  readonly maxRequestsPerSecond: number;
}

export interface Measured {
  /** Usage of one poll of all feeds that finds nothing, by a warm function. */
  readonly idlePoll: Usage;
  /** Number of custom metrics that such a poll writes. */
  readonly idleMetrics: number;
  /** Usage of one scheduled run of refresh-token that has nothing to refresh. */
  readonly sweep: Usage;
  /** Usage of all changes: the drain reads them in pages, the fan-out handles them in batches of ten. */
  readonly changes: Usage;
  /** Durations of the fan-out's invocations. */
  readonly batchMs: readonly number[];
}

/** Between two drains, its cached queue depth expires, and it may store its counts of answers again. */
const betweenDrainsMs = storeAnswersMs + 100;

async function measure(
  { partnerAccounts, changes, latencyMs, maxRequestsPerSecond }: Setting,
  { memoryMb }: Pick<StackFacts, 'memoryMb'>,
): Promise<Measured> {
  const aws = await startAws({
    partnerAccounts,
    settings: { maxRequestsPerSecond },
    sandbox: { latencyMs },
    setEnvironment: (variables) => Object.assign(process.env, variables),
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
    // Warm-up, because at first everything is new: connections, tokens, rows.
    const ids = control.createAdverts(changes, { status: 'new' });
    await drain();
    await fanOut();
    await drain();
    for (const id of ids) control.setStatus(id, 'active');
    const before = aws.published();
    const [read, handled] = [await drain(), await fanOut()];
    const published = aws.published() - before;
    if (published !== changes) throw new Error(`${published} events of ${changes} changes`);
    // The first one stores what the fan-out has counted, which is another process on a stack.
    await sleep(betweenDrainsMs);
    await drain();
    await sleep(betweenDrainsMs);
    const idle = await drain();
    await used(() => aws.invoke('refresh-token'), memoryMb.refreshToken);
    const sweep = await used(() => aws.invoke('refresh-token'), memoryMb.refreshToken);
    return {
      idlePoll: idle.usage,
      idleMetrics: idle.metrics.size,
      sweep: sweep.usage,
      changes: sumOf([1, read.usage], [1, handled.usage]),
      batchMs: handled.durationsMs,
    };
  } finally {
    await aws.stop();
  }
}

const facts = stackFacts();
const measured = await measure(JSON.parse(process.argv[2] ?? '{}'), facts);
process.stdout.write(`\n${JSON.stringify({ facts, measured })}\n`);
process.exit(0);

import { totalOf } from './cost/bill.ts';
import { batchesAtOnce } from './cost/stack.ts';
import { type QueueOutcome, type QueueSetting, simulateQueue } from './queue-simulation.ts';
import type { Bench } from './report/report.ts';

const memoryGb = 256 / 1024;
const usual: Omit<QueueSetting, 'changesPerSecond' | 'maxRequestsPerSecond' | 'batchesAtOnce'> = {
  feeds: 1,
  pollSeconds: 60,
  latencyMs: 50,
  overheadMs: 40,
  seconds: 1_200,
};

const known = new Map<number, number>();
function deployedBatches(maxRequestsPerSecond: number): number {
  const batches = known.get(maxRequestsPerSecond) ?? batchesAtOnce(maxRequestsPerSecond);
  known.set(maxRequestsPerSecond, batches);
  return batches;
}

function simulated(changesPerSecond: number, maxRequestsPerSecond: number, more: Partial<QueueSetting> = {}) {
  const deployed = { batchesAtOnce: deployedBatches(maxRequestsPerSecond) };
  return simulateQueue({ ...usual, ...deployed, changesPerSecond, maxRequestsPerSecond, ...more });
}

const lambdaUsd = ({ lambdaMsPerChange }: QueueOutcome): number =>
  totalOf({ lambdaGbSecond: lambdaMsPerChange * 1_000 * memoryGb });
const seconds = (ms: number): string => (ms / 1000).toFixed(ms < 10_000 ? 1 : 0);
const growsForEver = ({ left, listed }: QueueOutcome): boolean => left > listed * 0.05 + 10_000 / 60;

export const queue: Bench = {
  does: 'waiting times of changes between feed and bus, from a simulation of the queue, on which docs/operate/capacity.md is based',
  async run({ isShort }) {
    const more = isShort ? { seconds: 300 } : {};
    const rates = [10, 30, 100, 300, 1_000];
    const loads = [0.1, 0.5, 0.8, 0.9, 0.95, 1];
    const most = rates.map((rate) => {
      const { published } = simulated(2 * rate, rate, more);
      return published / (more.seconds ?? usual.seconds) / rate;
    });
    const typical = [0.1, 1, 5, 8, 9.4].map(
      (perSecond) => [perSecond, simulated(perSecond, 10, more)] as const,
    );
    const fewer = [1, 2, 3, 5, 10].map(
      (batches) => [batches, simulated(9.4, 10, { ...more, batchesAtOnce: batches })] as const,
    );
    const latencies = [50, 200, 1_000, 3_000];
    const slow = rates.map(
      (rate) =>
        [rate, latencies.map((latencyMs) => simulated(0.9 * rate, rate, { ...more, latencyMs }))] as const,
    );
    return {
      figures: [
        {
          what: 'changes a second that a budget allows, relative to `maxRequestsPerSecond`, from 10 to 1,000',
          rounds: most,
          unit: '',
          target: { least: 0.9 },
        },
      ],
      tables: [
        {
          title: 'With the default budget, ten requests a second, polled every minute',
          columns: [
            'changes/s',
            'p50 s',
            'p99 s',
            'deepest queue',
            'messages a batch',
            'Lambda, $ a million changes',
          ],
          rows: typical.map(([perSecond, one]) => [
            perSecond,
            seconds(one.p50Ms),
            growsForEver(one) ? 'grows for ever' : seconds(one.p99Ms),
            one.deepest,
            one.messagesPerBatch.toFixed(1),
            lambdaUsd(one).toFixed(2),
          ]),
        },
        {
          title: 'The same with other numbers of concurrent batches, at 9.4 changes a second',
          columns: ['concurrent batches', 'p99 s', 'Lambda, $ a million changes'],
          rows: fewer.map(([batches, one]) => [batches, seconds(one.p99Ms), lambdaUsd(one).toFixed(2)]),
        },
        {
          title: 'Effect of a slow service on a budget that is nearly full, p99 s',
          columns: ['requests/s', 'concurrent batches', ...latencies.map((ms) => `${ms} ms an answer`)],
          rows: slow.map(([rate, outcomes]) => [
            rate,
            deployedBatches(rate),
            ...outcomes.map((one) => (growsForEver(one) ? 'grows for ever' : seconds(one.p99Ms))),
          ]),
        },
        {
          title: 'Number of partner accounts that a budget can poll, without any changes',
          columns: ['requests/s', 'polled every minute'],
          rows: rates.map((rate) => [rate, Math.floor((rate / 1.05) * 60).toLocaleString('en')]),
        },
      ],
      plots: [
        {
          title: 'Waiting time of a change, by load of the budget',
          xTitle: 'changes a second, of maxRequestsPerSecond',
          yTitle: 'p99 from listed to published, s',
          yScale: 'log',
          lines: rates.map((rate) => ({
            name: `${rate} requests/s`,
            points: loads.map((load) => [load, simulated(load * rate, rate, more).p99Ms / 1000] as const),
          })),
        },
      ],
      notes: [
        'This is a model with the budget, the limit of batches and the poll as deployed, not a measurement.',
      ],
    };
  },
};

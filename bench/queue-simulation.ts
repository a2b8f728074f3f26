/**
 * A model of the queue between drain and fan-out: polls add changes, and batches of ten remove them, limited by the
 * rate budget and by concurrency. It shows where changes wait, and how much of the billed function time is waiting.
 */
import { seededRandom } from '../sandbox/state/random.ts';
import { quantile } from './report/report.ts';

export interface QueueSetting {
  /** For all partner accounts together. */
  readonly changesPerSecond: number;
  readonly feeds: number;
  readonly pollSeconds: number;
  readonly maxRequestsPerSecond: number;
  /** Number of concurrent batches, as the stack configures the event source mapping. */
  readonly batchesAtOnce: number;
  /** Response time of the partner service. */
  readonly latencyMs: number;
  /** Time for a batch in addition to its fetches: reads, writes and the bus. */
  readonly overheadMs: number;
  readonly seconds: number;
  readonly seed?: number;
}

export interface QueueOutcome {
  readonly listed: number;
  readonly published: number;
  /** Time from listing to publishing. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly deepest: number;
  /** Messages still waiting at the end: more than one poll's changes means that the queue grows without limit. */
  readonly left: number;
  readonly messagesPerBatch: number;
  /** Function time of the fan-out per change. */
  readonly lambdaMsPerChange: number;
}

const batchSize = 10;
/** Slots are farther apart than the rate requires, by this factor (shared/partner-api/rate-limit/rate-limiter.ts). */
const spread = 1.05;

/** The same seed gives the same result. */
export function simulateQueue(setting: QueueSetting): QueueOutcome {
  const { feeds, latencyMs, overheadMs, batchesAtOnce } = setting;
  const random = seededRandom(setting.seed ?? 1);
  const slotMs = (1000 / setting.maxRequestsPerSecond) * spread;
  const endMs = setting.seconds * 1000;
  const pollMs = setting.pollSeconds * 1000;
  const perPoll = (setting.changesPerSecond * setting.pollSeconds) / feeds;
  /** When each waiting message was listed, oldest first. */
  const waiting: number[] = [];
  let head = 0;
  const workers = Array.from({ length: batchesAtOnce }, () => 0);
  const delays: number[] = [];
  let nextSlotMs = 0;
  let busyMs = 0;
  let batches = 0;
  let deepest = 0;
  let listed = 0;
  let carry = 0;

  const takeSlots = (count: number, nowMs: number): number => {
    const first = Math.max(nextSlotMs, nowMs);
    nextSlotMs = first + count * slotMs;
    return first + (count - 1) * slotMs;
  };

  /** Runs the batches that begin before `untilMs`, each on the first free worker. */
  function work(untilMs: number): void {
    for (; head < waiting.length; ) {
      const worker = workers.indexOf(Math.min(...workers));
      const begins = Math.max(workers[worker] ?? 0, waiting[head] ?? 0);
      if (begins >= untilMs) return;
      let size = 0;
      while (size < batchSize && (waiting[head + size] ?? Number.POSITIVE_INFINITY) <= begins) size += 1;
      const ends = takeSlots(size, begins + overheadMs / 2) + latencyMs + overheadMs / 2;
      for (const at of waiting.slice(head, head + size)) delays.push(ends - at);
      head += size;
      workers[worker] = ends;
      busyMs += ends - begins;
      batches += 1;
    }
  }

  // Feeds become due together; each poll reads one page.
  for (let pollAt = 0; pollAt < endMs; pollAt += pollMs) {
    waiting.splice(0, head);
    head = 0;
    for (let feed = 0; feed < feeds; feed += 1) {
      work(pollAt);
      const readAt = takeSlots(1, pollAt) + latencyMs;
      // A random number of changes since the last poll: a Poisson distribution in its normal approximation.
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      carry += Math.max(0, perPoll + Math.sqrt(perPoll) * normal);
      const found = Math.floor(carry);
      carry -= found;
      for (let index = 0; index < found; index += 1) waiting.push(readAt);
      listed += found;
    }
    waiting.sort((a, b) => a - b);
    deepest = Math.max(deepest, waiting.length - head);
  }
  work(endMs);
  return {
    listed,
    published: delays.length,
    p50Ms: quantile(delays, 0.5),
    p99Ms: quantile(delays, 0.99),
    deepest,
    left: waiting.length - head,
    messagesPerBatch: delays.length / batches,
    lambdaMsPerChange: busyMs / delays.length,
  };
}

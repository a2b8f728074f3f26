/**
 * A model of the queue between drain and fan-out: polls add changes, batches of ten take them out, limited by the rate
 * budget and by concurrency. Shows where changes wait, and for how much waiting time of functions one pays.
 */
import { seededRandom } from '../sandbox/state/random.ts';
import { quantile } from './report/report.ts';

export interface QueueSetting {
  /** Of all partner accounts together. */
  readonly changesPerSecond: number;
  readonly feeds: number;
  readonly pollSeconds: number;
  readonly maxRequestsPerSecond: number;
  /** Batches side by side: what the stack gives the event source mapping. */
  readonly batchesAtOnce: number;
  /** How long the partner service takes for an answer. */
  readonly latencyMs: number;
  /** What a batch takes beside its fetches: reads, writes and the bus. */
  readonly overheadMs: number;
  readonly seconds: number;
  readonly seed?: number;
}

export interface QueueOutcome {
  readonly listed: number;
  readonly published: number;
  /** From listed to published. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly deepest: number;
  /** Still waiting at the end: more than a poll's worth means that the queue grows for ever. */
  readonly left: number;
  readonly messagesPerBatch: number;
  /** Function time of the fan-out for a change. */
  readonly lambdaMsPerChange: number;
}

const batchSize = 10;
/** Slots are this much farther apart than the rate asks for (shared/partner-api/rate-limit/rate-limiter.ts). */
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

  /** Batches that begin before `untilMs`, each by the worker that is free first. */
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

  // Feeds are read five side by side, one page each, as they come due together.
  for (let pollAt = 0; pollAt < endMs; pollAt += pollMs) {
    waiting.splice(0, head);
    head = 0;
    for (let feed = 0; feed < feeds; feed += 1) {
      work(pollAt);
      const readAt = takeSlots(1, pollAt) + latencyMs;
      // As many as came since the last poll, give or take: a Poisson figure by its normal approximation.
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

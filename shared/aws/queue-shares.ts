import type { Clock } from '../domain/clock.ts';

export interface QueueSharesOptions {
  /** No more messages leave the queue, apart from those that need no request. */
  readonly maxRequestsPerSecond: number;
  /** From this depth on, the whole queue counts for every account: SQS hides at most so many messages at a time. */
  readonly wholeFrom: number;
  readonly clock: Clock;
}

/** Stands for whoever sent the messages that this process did not send. */
const others = '';
const leastKept = 0.1;

/**
 * Whose the messages in the queue are: SQS counts all of them, up to a minute late, and this process knows what it sent.
 * The shares always add up to what SQS has counted, or to what cannot have left the queue yet at the bridge's rate.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html
 */
export function createQueueShares({ maxRequestsPerSecond, wholeFrom, clock }: QueueSharesOptions) {
  const waiting = new Map<string, number>();
  let updatedAt = clock.now();

  const add = (partnerAccount: string, count: number): void =>
    void waiting.set(partnerAccount, (waiting.get(partnerAccount) ?? 0) + count);

  /** @returns the depth of the queue */
  function recount(counted: number): number {
    const now = clock.now();
    const before = [...waiting.values()].reduce((sum, count) => sum + count, 0);
    const fetched = (maxRequestsPerSecond * (now - updatedAt)) / 1000;
    updatedAt = now;
    const whole = Math.max(counted, before - fetched);
    if (whole >= before) add(others, whole - before);
    else
      for (const [partnerAccount, count] of waiting) {
        const left = (count * whole) / before;
        if (left < leastKept) waiting.delete(partnerAccount);
        else waiting.set(partnerAccount, left);
      }
    return whole;
  }

  return {
    sent: add,
    /** @param counted all messages, as SQS counts them @returns an upper bound for the account's share */
    depthOf(partnerAccount: string, counted: number): number {
      const whole = recount(counted);
      if (whole >= wholeFrom) return Math.round(whole);
      return Math.round((waiting.get(partnerAccount) ?? 0) + (waiting.get(others) ?? 0));
    },
  };
}

export type QueueShares = ReturnType<typeof createQueueShares>;

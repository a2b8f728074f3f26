import { describe, expect, it } from 'vitest';
import { createPacedRequests, OneFailsError } from '../../../../functions/audit/paced-requests.ts';
import type { Clock } from '../../../../shared/domain/clock.ts';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import { createScheduler } from '../../../simulation/model/scheduler.ts';

/** Time in which several may sleep at once. */
function createVirtualTime() {
  const scheduler = createScheduler(1);
  const clock: Clock = {
    now: scheduler.now,
    sleep: (ms) => new Promise((wake) => void scheduler.after(ms, wake)),
  };
  return { clock, runOut: () => scheduler.run(() => false) };
}

describe('paced requests', () => {
  it('start at half of the rate at most, however many are asked for at once', async () => {
    const { clock, runOut } = createVirtualTime();
    const signal = new AbortController().signal;
    const requests = createPacedRequests({
      clock,
      maxRequestsPerSecond: 10,
      signal,
      probe: async () => undefined,
    });
    const times: number[] = [];

    const all = Promise.all(
      Array.from({ length: 50 }, () => requests(async () => void times.push(clock.now()))),
    );
    await new Promise(setImmediate);
    await runOut();
    await all;

    expect(times).toHaveLength(50);
    for (const at of times) {
      expect(times.filter((one) => one >= at && one < at + 1_000).length).toBeLessThanOrEqual(5);
    }
  });

  it('give each request a minute, and end with what is not to be tried again', async () => {
    const { clock, runOut } = createVirtualTime();
    const signal = new AbortController().signal;
    const requests = createPacedRequests({
      clock,
      maxRequestsPerSecond: 10,
      signal,
      probe: async () => undefined,
    });
    const begun = clock.now();
    const deadlines: number[] = [];

    const refused = requests(async (deadlineMs) => {
      deadlines.push(deadlineMs - begun);
      throw new PartnerError('account-stopped', 'stopped');
    });
    const ended = expect(refused).rejects.toMatchObject({ code: 'account-stopped' });
    await runOut();
    await ended;

    expect(deadlines).toEqual([60_000]);
  });

  it.each([
    { is: 'goes on answering', downAfterMs: Number.POSITIVE_INFINITY, isOne: true },
    { is: 'has begun to fail', downAfterMs: 2_000, isOne: false },
  ])('tell one that fails alone from a service that fails: it $is', async ({ downAfterMs, isOne }) => {
    const { clock, runOut } = createVirtualTime();
    const signal = new AbortController().signal;
    const begun = clock.now();
    const probe = async () => {
      if (clock.now() - begun > downAfterMs) throw new PartnerError('transient', 'it answered 503');
    };
    const requests = createPacedRequests({ clock, maxRequestsPerSecond: 10, signal, probe });

    const failing = requests(async () => {
      throw new PartnerError('transient', 'it answered 500');
    }).catch((error: unknown) => error);
    await new Promise(setImmediate);
    await runOut();

    expect((await failing) instanceof OneFailsError).toBe(isOne);
  });
});

import { expect, it } from 'vitest';
import { createQueueShares } from '../../../../shared/aws/queue-shares.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

function make() {
  const clock = createManualClock();
  return { clock, ...createQueueShares({ maxRequestsPerSecond: 10, wholeFrom: 15_000, clock }) };
}

it('an account’s share of the queue is what was sent for it', () => {
  const { sent, depthOf } = make();
  sent('main', 300);
  sent('shop', 20);

  expect(depthOf('shop', 320)).toBe(20);
  expect([depthOf('shop', 400), depthOf('new', 400)]).toEqual([100, 80]);
});

it('an account’s share falls with the queue, in proportion', async () => {
  const { sent, depthOf, clock } = make();
  sent('main', 300);
  sent('shop', 20);
  await clock.sleep(30_000);

  expect([depthOf('main', 160), depthOf('shop', 160), depthOf('new', 160)]).toEqual([150, 10, 0]);
  expect(depthOf('main', 0)).toBe(150);
  await clock.sleep(30_000);
  expect(depthOf('main', 0)).toBe(0);
});

it('an account’s share omits what SQS has not counted or must have left', async () => {
  const { sent, depthOf, clock } = make();
  sent('main', 300);

  expect(depthOf('main', 0)).toBe(300);
  await clock.sleep(10_000);
  expect(depthOf('main', 0)).toBe(200);
});

it.each([
  [14_999, 10],
  [15_000, 15_000],
  [20_000, 20_000],
])('an account’s share with %i in the queue is %i', (whole, depth) => {
  const { sent, depthOf } = make();
  sent('main', whole - 10);
  sent('shop', 10);

  expect(depthOf('shop', whole)).toBe(depth);
});

it('ten feeds with a backlog stay even while counts are a minute late', async () => {
  const { sent, depthOf, clock } = make();
  const accounts = Array.from({ length: 10 }, (_, index) => `user-${index}`);
  const listed = new Map(accounts.map((name) => [name, 0]));
  const readAhead = 30;
  const past: number[] = [];
  const depths: number[] = [];
  let waiting = 0;
  for (let round = 0; round < 100; round += 1) {
    past.push(waiting);
    for (const name of accounts) {
      const room = readAhead - depthOf(name, past.at(-7) ?? 0);
      if (room < readAhead / 6) continue;
      sent(name, room);
      listed.set(name, (listed.get(name) ?? 0) + room);
      waiting += room;
    }
    depths.push(waiting);
    waiting = Math.max(0, waiting - 100);
    await clock.sleep(10_000);
  }

  expect(Math.max(...depths)).toBeLessThanOrEqual(400);
  expect(Math.min(...depths)).toBeGreaterThanOrEqual(100);
  expect(Math.max(...listed.values()) - Math.min(...listed.values())).toBeLessThanOrEqual(readAhead);
});

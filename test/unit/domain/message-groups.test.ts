import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageGroups, type Queued } from '../../../shared/domain/queue/message-groups.ts';

const message = (sequenceNumber: number, group = 'a'): Queued => ({
  ...{ sequenceNumber, group, partnerAccount: 'main', receives: 0 },
});
const numbers = (messages: readonly Queued[]) => messages.map(({ sequenceNumber }) => sequenceNumber);

/** The simplest model of the groups: it looks at every message each time. */
function takeByRule(
  queue: readonly Queued[],
  [maxGroups, maxPerGroup, nowMs, visibleAt]: readonly [number, number, number, number],
): number[] {
  const names = [...new Set(queue.map(({ group }) => group))];
  const taken: number[] = [];
  let groups = 0;
  for (const name of names) {
    const own = queue.filter(({ group }) => group === name);
    if (own.some((one) => one.visibleAt !== undefined && one.visibleAt > nowMs)) continue;
    for (const one of own) delete one.visibleAt;
    if (groups === maxGroups) continue;
    groups += 1;
    for (const one of own.slice(0, maxPerGroup)) {
      one.receives += 1;
      one.visibleAt = visibleAt;
      taken.push(one.sequenceNumber);
    }
  }
  return taken;
}

describe('message groups', () => {
  it('hand out what the rule says, whatever was added, taken, put off and removed before', () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          add: fc.constantFrom('a', 'b', 'c'),
          putOffFor: fc.option(fc.integer({ min: -5, max: 30 }), { freq: 4 }),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ take: fc.integer({ min: 1, max: 3 }), each: fc.integer({ min: 1, max: 3 }) }),
      },
      { weight: 2, arbitrary: fc.record({ remove: fc.nat(9) }) },
      {
        weight: 2,
        arbitrary: fc.record({ putOff: fc.nat(9), by: fc.integer({ min: 0, max: 30 }) }),
      },
      { weight: 3, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 20 }) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const groups = new MessageGroups({ takesTurns: true });
        let queue: [own: Queued, model: Queued][] = [];
        let nowMs = 1_000;
        let last = 0;
        for (const one of steps) {
          if ('add' in one) {
            last += 1;
            const added = (): Queued => ({
              ...message(last, one.add),
              ...(one.putOffFor !== null && { visibleAt: nowMs + one.putOffFor }),
            });
            const pair: [Queued, Queued] = [added(), added()];
            queue.push(pair);
            groups.add(pair[0]);
          } else if ('take' in one) {
            const how = [one.take, one.each, nowMs, nowMs + 10] as const;
            const models = queue.map(([, model]) => model);
            expect(numbers(groups.take(...how))).toEqual(takeByRule(models, how));
            expect(queue.map(([own]) => own)).toEqual(models);
          } else if ('remove' in one) {
            const removed = queue[one.remove];
            if (removed) groups.remove(removed[0]);
            queue = queue.filter((pair) => pair !== removed);
          } else if ('putOff' in one) {
            const chosen = queue[one.putOff];
            if (!chosen) continue;
            groups.putOff(chosen[0], nowMs + one.by);
            Object.assign(chosen[1], { visibleAt: nowMs + one.by });
          } else {
            nowMs += one.wait;
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('show each hidden group again when its own time has come', () => {
    const groups = new MessageGroups({ takesTurns: true });
    const [first, second] = [message(1, 'a'), message(2, 'b')];
    groups.add(Object.assign(first, { visibleAt: 5 }));
    groups.add(Object.assign(second, { visibleAt: 6 }));

    expect([4, 5, 6].flatMap((nowMs) => groups.take(2, 1, nowMs, 100))).toEqual([first, second]);
  });
});

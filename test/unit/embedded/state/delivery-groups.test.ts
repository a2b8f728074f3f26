import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createGroups, type Queued } from '../../../../embedded/state/delivery-groups.ts';

interface Take {
  readonly maxGroups: number;
  readonly maxPerGroup: number;
  readonly nowMs: number;
}

/** The simplest model: a list of groups, of which all messages are looked at. */
const takenByRule = (groups: readonly Queued[][], { maxGroups, maxPerGroup, nowMs }: Take): number[] =>
  groups
    .filter((group) => group.length > 0 && group.every(({ visibleAt = 0 }) => visibleAt <= nowMs))
    .slice(0, maxGroups)
    .flatMap((group) => group.slice(0, maxPerGroup).map(({ sequenceNumber }) => sequenceNumber));

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: fc.constantFrom('a', 'b', 'c'), delayMs: fc.nat(30) }) },
  { weight: 4, arbitrary: fc.record({ maxGroups: fc.nat(3), maxPerGroup: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ hide: fc.nat(9), forMs: fc.nat(30) }) },
  { weight: 3, arbitrary: fc.record({ waitMs: fc.integer({ min: 1, max: 20 }) }) },
);

it.each([true, false])(
  'message groups come in order, none with a hidden message (turns: %s)',
  (takesTurns) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const groups = createGroups({ takesTurns });
        let model: Queued[][] = [];
        let nowMs = 1_000;
        for (const [sequenceNumber, one] of steps.entries()) {
          const all = model.flat();
          if ('add' in one) {
            const visibleAt = nowMs + one.delayMs;
            const queued = { sequenceNumber, group: one.add, partnerAccount: 'main', receives: 0, visibleAt };
            groups.add(queued);
            const own = model.find(([first]) => first?.group === one.add);
            if (own) own.push(queued);
            else model.push([queued]);
          } else if ('maxGroups' in one) {
            const expected = takenByRule(model, { ...one, nowMs });
            const taken = groups.take(one.maxGroups, one.maxPerGroup, nowMs, nowMs + 10);
            expect(taken.map((queued) => queued.sequenceNumber)).toEqual(expected);
            for (const { visibleAt } of taken) expect(visibleAt).toBe(nowMs + 10);
          } else if ('remove' in one) {
            const removed = all[one.remove];
            if (removed) groups.remove(removed);
            model = model
              .map((group) => group.filter((queued) => queued !== removed))
              .filter(({ length }) => length);
          } else if ('hide' in one) {
            Object.assign(all[one.hide] ?? {}, { visibleAt: nowMs + one.forMs });
          } else {
            nowMs += one.waitMs;
          }
        }
      }),
      { numRuns: 500 },
    );
  },
);

it.each([
  ['hidden for a quarter of an hour is not taken', 15 * 60_000, 0],
  ['is taken when it is hidden for hours, since a clock was set back', 5 * 3_600_000, 1],
])('a message %s', (_, visibleAt, count) => {
  const groups = createGroups({ takesTurns: true });
  groups.add({ sequenceNumber: 1, partnerAccount: 'main', group: '1', receives: 1, visibleAt });
  expect(groups.take(1, 1, 0, 1)).toHaveLength(count);
});

it('message groups of two accounts alternate, also over several takes', () => {
  const groups = createGroups({ takesTurns: true });
  for (const [sequenceNumber, partnerAccount] of ['a', 'a', 'a', 'b', 'b'].entries())
    groups.add({ sequenceNumber, partnerAccount, group: String(sequenceNumber), receives: 0 });

  const taken = [3, 1, 9].map((most) => groups.take(most, 1, 0, 1).map((queued) => queued.sequenceNumber));

  expect(taken).toEqual([[0, 3, 1], [4], [2]]);
});

import { expect, it } from 'vitest';
import {
  type BudgetState,
  createBudgetStore,
  freeSlotMs,
  freshBudget,
  reserveSlots,
} from '../../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';

const key = { kind: 'bridge', name: 'budget' } as const;
const hold = { kind: 'service', since: 1 } as const;
const renewal = { at: 1, forMs: 2 };

it('the rate budget has no hold at first and is unwritten without a change', async () => {
  const put = () => Promise.reject(new Error('nothing is to be written'));
  const budgetStore = createBudgetStore({ ...createInMemoryStore(), put });

  expect(await budgetStore.change((state) => state)).toStrictEqual({ nextSlotMs: 0 });
  expect(await budgetStore.read()).toStrictEqual(freshBudget);
});

it('a change of the rate budget follows that of another process', async () => {
  const store = createInMemoryStore();
  const [budget, other] = [createBudgetStore(store), createBudgetStore(store)];
  let changes = 0;
  const add = (state: BudgetState) => ({ ...state, nextSlotMs: state.nextSlotMs + 1 });
  const { get } = store;
  store.get = async (read) => {
    const row = await get(read);
    changes += 1;
    if (changes === 1) await other.change(add);
    return row;
  };

  expect(await budget.change(add)).toStrictEqual({ nextSlotMs: 2 });
  expect(await budget.read()).toStrictEqual({ nextSlotMs: 2 });
  expect(store.find(key)?.value).toEqual({ nextSlotMs: 2 });
});

it.each<[string, object]>([
  ['the least', {}],
  [
    'everything',
    {
      ...{ form: 1, clockMs: 5, connected: 0, provenUrl: 'https://x', failing: ['main 1'] },
      holds: [
        { ...hold, until: 2, forMs: 3, reason: 'r', who: 'w', fault: 'f', tried: { by: 'main 1', until: 4 } },
        ...['authorization', 'operator', 'circuit', 'token'].map((kind) => ({ ...hold, kind })),
        { ...hold, tried: { until: 4 } },
      ],
      renewal: { ...renewal, fault: 'transient', reason: 'r' },
    },
  ],
  [
    'what a newer bridge has added',
    { later: true, holds: [{ ...hold, later: 1 }], renewal: { ...renewal, x: 1 } },
  ],
])('the row of the rate budget has %s', async (_case, fields) => {
  const store = createInMemoryStore();
  await store.put(key, { nextSlotMs: 1, ...fields }, 'absent');

  expect(await createBudgetStore(store).read()).toEqual({ nextSlotMs: 1, ...fields });
});

const wrong: Record<string, unknown[]> = {
  nextSlotMs: ['1', null],
  form: [2, '1'],
  clockMs: ['1', null],
  connected: [-1, 0.5, '1'],
  provenUrl: [1],
  failing: ['main 1', [''], [1]],
  holds: [
    hold,
    ...[
      ...[{ ...hold, kind: 'odd' }, { kind: 'service' }, { since: 1 }, { ...hold, until: '1' }],
      ...[
        { ...hold, forMs: '1' },
        { ...hold, reason: '' },
        { ...hold, who: '' },
        { ...hold, fault: '' },
      ],
      ...[
        { ...hold, tried: {} },
        { ...hold, tried: { until: 1, by: '' } },
      ],
    ].map((one) => [one]),
  ],
  renewal: [
    ...[{ at: 1 }, { forMs: 1 }, { ...renewal, at: '1' }, { ...renewal, forMs: null }],
    ...[
      { ...renewal, fault: '' },
      { ...renewal, reason: 1 },
    ],
  ],
};

it.each(Object.entries(wrong).flatMap(([field, values]) => values.map((value) => [field, value] as const)))(
  'a row of the rate budget is refused for its %s %j',
  async (field, value) => {
    const store = createInMemoryStore();
    await store.put(key, { nextSlotMs: 1, [field]: value }, 'absent');

    await expect(createBudgetStore(store).read()).rejects.toThrow(`rate budget: ${field}`);
  },
);

it.each<[nextSlotMs: number, clockMs: number | undefined, now: number, freeMs: number]>([
  [9_000, undefined, 5_000, 9_000],
  [5_000, undefined, 9_000, 9_000],
  [9_000, 5_000, 5_000, 9_000],
  [9_000, 6_000, 5_000, 9_000],
  // That clock was ahead by more than clocks differ.
  [9_000, 6_001, 5_000, 7_999],
  [9_000, 60_000, 5_000, 5_000],
  [9_000, 3_000, 5_000, 9_000],
])('the next slot %i, given at %s, is at %i free at %i', (nextSlotMs, clockMs, now, freeMs) => {
  expect(freeSlotMs({ nextSlotMs, ...(clockMs !== undefined && { clockMs }) }, now)).toBe(freeMs);
});

type Offsets = { offsetMs?: number; lastClockMs?: number };
it.each<[string, BudgetState, Offsets, after: readonly [nextSlotMs: number, clockMs: number]]>([
  ['of a fresh budget', freshBudget, {}, [50_300, 50_000]],
  ['after others', { nextSlotMs: 51_000, clockMs: 49_990 }, {}, [51_300, 50_000]],
  ['after a clock ahead', { nextSlotMs: 63_000, clockMs: 60_000 }, {}, [53_300, 50_000]],
  ['by the clock that it follows', { nextSlotMs: 51_000 }, { offsetMs: -7_000 }, [51_300, 43_000]],
  ['by a clock ahead of its own', { nextSlotMs: 1 }, { offsetMs: 7_000 }, [57_300, 57_000]],
  ['as far behind', { nextSlotMs: 1, clockMs: 44_000 }, { lastClockMs: 45_000 }, [50_300, 50_000]],
  ['by one that is behind', { nextSlotMs: 1, clockMs: 44_000 }, { lastClockMs: 45_001 }, [44_300, 44_000]],
  ['by its own again', { nextSlotMs: 1, clockMs: 44_000 }, { offsetMs: -6_001 }, [44_300, 44_000]],
  ['by the same again', { nextSlotMs: 1, clockMs: 44_000 }, { offsetMs: -6_000 }, [44_300, 44_000]],
  ['by the one behind still', { nextSlotMs: 1, clockMs: 43_000 }, { offsetMs: -6_000 }, [44_300, 44_000]],
  ['by the one ahead still', { nextSlotMs: 1, clockMs: 58_000 }, { offsetMs: 7_000 }, [57_300, 57_000]],
])('slots are reserved %s', (_case, before, offsets, [nextSlotMs, clockMs]) => {
  const request = { count: 3, intervalMs: 100, nowMs: 50_000, ...offsets };

  const row = { ...before, holds: [hold] };
  expect(reserveSlots(row, request)).toStrictEqual({ ...row, nextSlotMs, clockMs });
});

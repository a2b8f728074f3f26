import { expect, it, vi } from 'vitest';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { createCachedAccounts, createCachedBudget } from '../../../../shared/partner-api/cached-rows.ts';
import { type BudgetState, freshBudget } from '../../../../shared/state/budget.ts';
import { serviceHold, stopped } from '../../../helpers/holds.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { faultOf } from '../../../helpers/partner-api/fixtures.ts';
import { partnerAccount } from '../../../helpers/records.ts';

/** Cached rows over a store in which each access takes a while, and finds the row as it was at its beginning. */
function setUp(takesMs = 0) {
  const clock = createManualClock();
  const row: PartnerAccount | undefined = partnerAccount();
  const stored = { row: row as typeof row | undefined, takesMs, accesses: 0 };
  const access = async () => {
    stored.accesses += 1;
    const found = stored.row;
    clock.advance(stored.takesMs);
    return found;
  };
  const list = vi.fn(async () => [(await access()) ?? partnerAccount()]);
  const rows = createCachedAccounts({ read: access, change: access, list }, clock);
  return { clock, row, stored, list, rows, readAt: clock.now() };
}

it.each<[string, (rows: ReturnType<typeof setUp>['rows']) => Promise<unknown>]>([
  ['read', (rows) => rows.read('main')],
  ['looked for', (rows) => rows.get('main')],
  ['listed', (rows) => rows.list()],
  ['changed', (rows) => rows.change('main', () => undefined)],
])('a row may be used for 5 s from before it is %s', async (_how, access) => {
  const { rows, clock, row, readAt } = setUp(1_000);
  expect([rows.peek('main'), rows.known('main')]).toEqual([undefined, undefined]);

  await access(rows);

  clock.advance(4_000);
  expect(rows.peek('main')).toEqual({ account: row, readAt });
  clock.advance(1);
  expect([rows.peek('main'), rows.known('main')]).toEqual([undefined, row]);
});

it.each<[string, number, string]>([
  ['a later one stays when an earlier read ends after it', 1, 'later'],
  ['the last to end stays when both began at once', 0, 'first'],
  ['one of before the clock was set back is replaced', -1, 'first'],
])('of two rows, %s', async (_what, laterMs, stays) => {
  const clock = createManualClock();
  const ends: ((row: PartnerAccount) => void)[] = [];
  const read = () => new Promise<PartnerAccount>((resolve) => ends.push(resolve));
  const rows = createCachedAccounts({ read, change: read, list: async () => [] }, clock);
  const end = (index: number, connectedAt: string) => ends[index]?.(partnerAccount({ connectedAt }));

  const first = rows.read('main');
  clock.advance(laterMs);
  const later = rows.read('main');
  end(1, 'later');
  await later;
  if (laterMs < 0) clock.advance(laterMs);
  end(0, 'first');
  await first;

  expect(rows.known('main')?.connectedAt).toBe(stays);
});

it('a row of the future is not used, and replaced by the next', async () => {
  const { rows, clock, stored } = setUp();
  await rows.read('main');
  clock.advance(-1);
  expect(rows.peek('main')).toBeUndefined();
  stored.row = partnerAccount({ connectedAt: 'later' });

  expect(await rows.recent('main')).toBe(stored.row);
  expect(rows.peek('main')?.account).toBe(stored.row);
});

it('callers at once share one look, whose failure is not shared later', async () => {
  const { rows, stored } = setUp();
  const names = ['main', 'main', 'other'];
  await Promise.all(names.map(rows.get));
  expect(stored.accesses).toBe(2);

  stored.takesMs = 5_001;
  expect(await faultOf(rows.get('main'))).toMatchObject({
    code: 'transient',
    message: 'the row of partner account main cannot be read in time',
  });
  stored.takesMs = 5_000;
  expect(await rows.get('main')).toBe(stored.row);
  expect(stored.accesses).toBe(4);
});

it('a row is read again only if it is too old, also of an unknown name', async () => {
  const { rows, stored, clock } = setUp();
  stored.row = undefined;
  for (const accesses of [1, 1]) {
    expect(await rows.recent('main')).toBeUndefined();
    expect(stored.accesses).toBe(accesses);
  }
  clock.advance(5_001);
  await rows.recent('main');
  expect(stored.accesses).toBe(2);
});

it('the connected accounts are those listed last that are not stopped', async () => {
  const { rows, list } = setUp();
  expect(rows.connected).toBeUndefined();
  const onUnreadable = () => undefined;
  const off = partnerAccount({ name: 'off', ...stopped('disconnected') });
  list.mockResolvedValueOnce([partnerAccount(), off, partnerAccount({ name: 'shop' })]);

  expect(await rows.list(onUnreadable)).toHaveLength(3);

  expect([rows.connected, rows.known('off')]).toEqual([2, off]);
  expect(list).toHaveBeenCalledWith(onUnreadable);
});

const hold = serviceHold('service', 9e12);
const held = { holds: [hold] };

/** A cached row of the bridge over a store whose accesses end when they are told to. */
function setUpBudget() {
  const clock = createManualClock();
  const accesses: { readonly end: (state: BudgetState) => void; readonly fail: (error: Error) => void }[] =
    [];
  const access = () =>
    new Promise<BudgetState>((resolve, reject) => accesses.push({ end: resolve, fail: reject }));
  const budget = createCachedBudget({ read: access, change: access }, clock);
  const end = (index: number, state: Partial<BudgetState>) =>
    accesses[index]?.end({ ...freshBudget, ...state });
  return { clock, accesses, budget, end };
}

it('the row of the bridge is read again a second after its answer', async () => {
  const { clock, accesses, budget, end } = setUpBudget();
  expect(budget.state).toBe(freshBudget);
  const first = budget.refresh();
  clock.advance(500);
  end(0, { nextSlotMs: 1 });
  await first;
  expect(budget.state.nextSlotMs).toBe(1);

  clock.advance(1_000);
  await budget.refresh();
  expect(accesses).toHaveLength(1);
  // Also after the clock was set back.
  for (const [reads, ms] of [
    [2, 1],
    [3, -1],
  ] as const) {
    clock.advance(ms);
    const read = budget.refresh();
    expect(accesses).toHaveLength(reads);
    end(reads - 1, {});
    await read;
  }
});

it('a change of the bridge’s row holds here even if it is not stored', async () => {
  const { accesses, budget, end } = setUpBudget();
  const change = budget.change((state) => ({ ...state, ...held }));
  expect(budget.state).toEqual({ ...freshBudget, ...held });
  end(0, { nextSlotMs: 7, ...held });
  expect(await change).toEqual({ nextSlotMs: 7, ...held });
  expect(budget.state).toEqual({ nextSlotMs: 7, ...held });

  const cause = new BridgeFault('resource-unusable', 'no table');
  const failed = faultOf(budget.change((state) => ({ ...state, connected: 3 })));
  accesses[1]?.fail(cause);
  expect(await failed).toMatchObject({
    ...{ code: 'resource-unusable', message: 'the rate budget cannot be reached: no table', cause },
  });
  expect(budget.state).toEqual({ nextSlotMs: 7, ...held, connected: 3 });
});

it.each(['refresh', 'reserve'] as const)(
  'holds changed here survive a %s that began before',
  async (kind) => {
    const { budget, clock, end } = setUpBudget();
    const access = () =>
      kind === 'refresh' ? budget.refresh().then(() => budget.state) : budget.reserve((state) => state);
    const early = access();
    const before = access();
    const change = budget.change((state) => ({ ...state, ...held }));
    const during = access();
    end(0, { nextSlotMs: 1 });
    expect(await early).toEqual({ nextSlotMs: 1, ...held });
    end(2, held);
    await change;

    // The others are newer in the store, except the holds.
    end(1, { nextSlotMs: 2 });
    expect(await before).toEqual({ nextSlotMs: 2, ...held });
    end(3, { nextSlotMs: 3, holds: [] });
    expect(await during).toEqual({ nextSlotMs: 3, ...held });

    clock.advance(2_000);
    const after = access();
    end(4, { nextSlotMs: 4 });
    expect(await after).toEqual({ nextSlotMs: 4 });
  },
);

it('a hold that ended here does not come back with an earlier read', async () => {
  const { budget, end } = setUpBudget();
  const first = budget.refresh();
  end(0, held);
  await first;
  const before = budget.reserve((state) => state);
  const change = budget.change(({ holds: _ended, ...state }) => state);
  end(2, {});
  await change;
  end(1, { nextSlotMs: 1, ...held });

  expect(await before).toEqual({ nextSlotMs: 1 });
});

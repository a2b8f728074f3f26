import { describe, expect, it } from 'vitest';
import { pause, resume } from '../../../operations/pause.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { holdBridge, holdOf, serviceHold, stopped, tokenHold } from '../../helpers/holds.ts';
import { partnerAccount } from '../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');

async function setUp() {
  const clock = { now: () => nowMs };
  const { partnerAccounts, budgetStore } = createInMemoryState({ clock });
  const own = tokenHold(nowMs + 60_000);
  await partnerAccounts.add(partnerAccount({ holds: [own] }));
  await partnerAccounts.add(partnerAccount({ name: 'shop' }));
  const row = async () => await partnerAccounts.read('main');
  return { bridge: { partnerAccounts, budgetStore, clock, who: async () => 'ann' }, own, row };
}

describe('pause', () => {
  it('is kept with its partner account, the later one in place of the earlier', async () => {
    const { bridge, row } = await setUp();
    await pause(bridge, 'main', { forMs: 1 });
    await pause({ ...bridge, who: async () => 'bob' }, 'main', {});
    expect(holdOf(await row(), 'operator')).toEqual({ kind: 'operator', who: 'bob', since: nowMs });
    expect(await bridge.partnerAccounts.read('shop')).not.toHaveProperty('holds');
    expect(await bridge.budgetStore.read()).not.toHaveProperty('holds');
  });
});

describe('resume', () => {
  it('ends the pause that it names, and tells of the other', async () => {
    const { bridge, own, row } = await setUp();
    await pause(bridge, undefined, {});
    await pause(bridge, 'main', { reason: 'a migration' });

    const ofAccount = await resume(bridge, 'main', { early: false });

    expect(ofAccount).toMatchObject({ ended: { reason: 'a migration' }, stillPaused: { who: 'ann' } });
    expect(await row()).toEqual(partnerAccount({ holds: [own] }));
    expect(await resume(bridge, undefined, { early: false })).toMatchObject({
      ended: { who: 'ann' },
      stillPaused: null,
    });
    expect(await bridge.budgetStore.read()).not.toHaveProperty('holds');
  });

  it('ends what the service asked for only when that is wanted', async () => {
    const { bridge, row } = await setUp();
    const circuit = serviceHold('circuit', nowMs + 60_000);
    await holdBridge(bridge.budgetStore, circuit);

    expect(await resume(bridge, 'main', { early: false })).toMatchObject({
      ...{ circuitEnded: false, stillHeldUntil: '2026-11-20T12:01:00.000Z' },
    });
    expect((await bridge.budgetStore.read()).holds).toEqual([circuit]);

    expect(await resume(bridge, 'main', { early: true })).toMatchObject({
      ended: null,
      circuitEnded: true,
      servicePauseUntil: '2026-11-20T12:01:00.000Z',
      stillHeldUntil: null,
    });
    expect(await bridge.budgetStore.read()).toEqual({ nextSlotMs: 0 });
    expect(await row()).toEqual(partnerAccount());
  });

  it('ends no stop: only the user ends that', async () => {
    const { bridge, row } = await setUp();
    await bridge.partnerAccounts.change('main', (account) => ({
      ...account,
      ...stopped('refresh-token-rejected'),
    }));

    await resume(bridge, 'main', { early: true });

    expect(holdOf(await row(), 'authorization')).toBeDefined();
  });
});

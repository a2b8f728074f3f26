import { describe, expect, it } from 'vitest';
import { pause, resume } from '../../../operations/pause.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { holdBridge, holdOf, serviceHold, tokenHold } from '../../helpers/holds.ts';
import { partnerAccount } from '../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const wanted = { who: 'ann', since: nowMs };

async function setUp() {
  const { partnerAccounts: accounts, budgetStore } = createInMemoryState({ clock: { now: () => nowMs } });
  const own = tokenHold(nowMs + 60_000);
  await accounts.add(partnerAccount({ holds: [own] }));
  await accounts.add(partnerAccount({ name: 'shop' }));
  const row = async () => await accounts.read('main');
  return { ports: { accounts, budgetStore }, own, row };
}

describe('pause', () => {
  it('is kept with its partner account, the later one in place of the earlier', async () => {
    const { ports, row } = await setUp();
    await pause(ports, 'main', { ...wanted, until: nowMs + 1 });
    await pause(ports, 'main', { ...wanted, who: 'bob' });
    expect(holdOf(await row(), 'operator')).toEqual({ kind: 'operator', who: 'bob', since: nowMs });
    expect(await ports.accounts.read('shop')).not.toHaveProperty('holds');
    expect(await ports.budgetStore.read()).not.toHaveProperty('holds');
  });

  it('and resume name the partner accounts that are known, where the name is none of them', async () => {
    const { ports } = await setUp();
    await expect(pause(ports, 'other', wanted)).rejects.toThrow('Known: main, shop');
    await expect(resume(ports, 'other', { early: true }, nowMs)).rejects.toThrow('Known: main, shop');
  });
});

describe('resume', () => {
  it('ends the pause that it names, and tells of the other', async () => {
    const { ports, own, row } = await setUp();
    await pause(ports, undefined, wanted);
    await pause(ports, 'main', { ...wanted, reason: 'a migration' });

    const ofAccount = await resume(ports, 'main', { early: false }, nowMs);

    expect(ofAccount).toMatchObject({ ended: { reason: 'a migration' }, stillPaused: { who: 'ann' } });
    expect(await row()).toEqual(partnerAccount({ holds: [own] }));
    expect(await resume(ports, undefined, { early: false }, nowMs)).toMatchObject({
      ended: { who: 'ann' },
      stillPaused: null,
    });
    expect(await ports.budgetStore.read()).not.toHaveProperty('holds');
  });

  it('ends what the service asked for only when that is wanted', async () => {
    const { ports, row } = await setUp();
    const circuit = serviceHold('circuit', nowMs + 60_000);
    await holdBridge(ports.budgetStore, circuit);

    expect(await resume(ports, 'main', { early: false }, nowMs)).toMatchObject({ circuitEnded: false });
    expect((await ports.budgetStore.read()).holds).toEqual([circuit]);

    expect(await resume(ports, 'main', { early: true }, nowMs)).toMatchObject({
      ended: null,
      circuitEnded: true,
      servicePauseUntil: '2026-11-20T12:01:00.000Z',
    });
    expect(await ports.budgetStore.read()).toEqual({ nextSlotMs: 0 });
    expect(await row()).toEqual(partnerAccount());
  });
});

import { describe, expect, it } from 'vitest';
import { busy, withRefreshLock } from '../../../../functions/refresh-token/refresh-lock.ts';
import { createInMemoryState } from '../../../fakes/state.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

const lockMs = 90_000;

describe('the lock of a refresh', () => {
  async function make() {
    const clock = createManualClock();
    const { partnerAccounts: accounts } = createInMemoryState({ clock });
    const connectedAt = '2026-11-20T11:00:00.000Z';
    await accounts.add({ name: 'main', generation: 1, connectedAt });
    const lockedBy = (holder: string) => ({ accounts, clock, newId: () => holder, settings: { lockMs } });
    const held = async () => (await accounts.read('main'))?.refreshing;
    return { clock, accounts, lockedBy, held };
  }

  it('is free when it was taken before the clock was set back', async () => {
    const { clock, accounts, lockedBy } = await make();
    const startedAt = clock.now() + 5 * 3_600_000;
    const refreshing = { holder: 'first', startedAt, until: startedAt + lockMs };
    await accounts.change('main', (account) => ({ ...account, refreshing }));

    expect(await withRefreshLock(lockedBy('second'), 'main', async (holder) => holder)).toBe('second');
  });

  it.each([
    ['the result', async () => 'done', 'done'],
    ['the error', () => Promise.reject('on purpose'), 'on purpose'],
  ])(
    'that cannot be given back runs out by itself, and %s of the work is passed on',
    async (_what, work, outcome) => {
      const { clock, accounts, lockedBy, held } = await make();
      const giveBackFails: typeof accounts = {
        ...accounts,
        async change(name, change) {
          const account = await accounts.read(name);
          if (account && !change(account)?.refreshing) throw new Error('throttled');
          return accounts.change(name, change);
        },
      };

      const ended = withRefreshLock({ ...lockedBy('first'), accounts: giveBackFails }, 'main', work);

      expect(await ended.catch((error: unknown) => error)).toBe(outcome);
      clock.advance(lockMs + 1);
      expect(await withRefreshLock(lockedBy('second'), 'main', async () => (await held())?.holder)).toBe(
        'second',
      );
    },
  );

  it('that ran out and was taken over stays with its new holder when the old one ends', async () => {
    const { clock, lockedBy, held } = await make();
    let secondEnds = () => {};
    const secondWorks = new Promise<void>((resolve) => {
      secondEnds = resolve;
    });
    let second: Promise<unknown> = Promise.resolve();

    await withRefreshLock(lockedBy('first'), 'main', async () => {
      clock.advance(lockMs);
      await new Promise<void>((taken) => {
        second = withRefreshLock(lockedBy('second'), 'main', () => {
          taken();
          return secondWorks;
        });
      });
    });

    expect(await held()).toMatchObject({ holder: 'second' });
    expect(await withRefreshLock(lockedBy('third'), 'main', async () => 'done')).toBe(busy);
    secondEnds();
    await second;
    expect(await held()).toBeUndefined();
  });
});

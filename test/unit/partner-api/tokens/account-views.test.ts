import { describe, expect, it } from 'vitest';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { ViewedAccounts } from '../../../../shared/partner-api/tokens/account-views.ts';
import { faultOf } from '../../../helpers/partner-api/fixtures.ts';
import { createVirtualClock, startMs } from '../../../helpers/partner-api/virtual-clock.ts';
import { partnerAccount } from '../../../helpers/records.ts';

/** Rows that can be changed behind the views, and readings that take `tookMs`. */
function setUp() {
  const clock = createVirtualClock();
  const state = {
    row: partnerAccount({ generation: 1 }) as PartnerAccount | undefined,
    tookMs: [] as number[],
    fails: false,
    /** Beginnings of readings, in milliseconds from the start. */
    reads: [] as number[],
  };
  const removed: string[] = [];
  const views = new ViewedAccounts(
    {
      async read() {
        state.reads.push(clock.now() - startMs);
        const { row } = state;
        const tookMs = state.tookMs.shift() ?? 0;
        if (tookMs > 0) await clock.sleep(tookMs);
        if (state.fails) throw new Error('throttled');
        return row && { value: row, version: 7 };
      },
      list: async () => (state.row ? [state.row] : []),
      write: async (account) => {
        state.row = account;
        return true;
      },
      remove: async (name) => {
        state.row = undefined;
        removed.push(name);
      },
    },
    clock,
  );
  return { clock, state, views, removed };
}
const of = (generation: number) => partnerAccount({ generation });

describe('a view of an account', () => {
  it('is read again once it is older than three seconds', async () => {
    const { clock, state, views } = setUp();
    await views.view('main', 1);
    clock.advance(3_000);
    await views.view('main', 1);
    expect(state.reads).toEqual([0]);

    clock.advance(1);
    expect(await views.view('main', 1)).toEqual(of(1));
    expect(state.reads).toEqual([0, 3_001]);
  });

  it('is read again after the clock was set back, and counts from then on', async () => {
    const { clock, state, views } = setUp();
    await views.view('main', 1);
    state.row = { ...of(1), stop: { reason: 'disconnected', tokenVersion: '', at: '2026-11-20T12:00:00Z' } };

    clock.advance(-3_600_000);

    expect(views.seen('main')).toBeUndefined();
    expect(await views.view('main', 1)).toEqual(state.row);
    expect(views.seen('main')?.account).toEqual(state.row);
  });

  it('of another generation is not believed', async () => {
    const { state, views } = setUp();
    await views.view('main', 1);
    state.row = of(2);

    expect(await views.view('main', 2)).toEqual(of(2));
    // The same applies when the account no longer has this generation: it is read once more, and the result is
    // reported.
    expect(await views.view('main', 1)).toEqual(of(2));
    expect(state.reads).toHaveLength(3);
  });

  it('is shared by those who ask while it is read, and read once more for who needs another generation', async () => {
    const { clock, state, views } = setUp();
    state.tookMs = [100, 100];
    const first = [views.view('main', 1), views.view('main', 1)];
    await clock.run(startMs + 50);
    state.row = of(2);
    const second = [views.view('main', 2), views.view('main', 2)];
    await clock.run();

    expect(await Promise.all(first)).toEqual([of(1), of(1)]);
    expect(await Promise.all(second)).toEqual([of(2), of(2)]);
    expect(state.reads).toEqual([0, 100]);
  });

  it('that was long in coming is read a second time, and is a passing fault when that takes as long', async () => {
    const { clock, state, views } = setUp();
    state.tookMs = [5_001, 5_000];
    const slow = views.view('main', 1);
    await clock.run();
    expect(await slow).toEqual(of(1));
    expect(state.reads).toEqual([0, 5_001]);

    clock.advance(60_000);
    state.tookMs = [5_001, 5_001];
    const fault = faultOf(views.view('main', 1));
    await clock.run();
    expect(await fault).toMatchObject({ code: 'transient', message: expect.stringContaining('main') });
    expect(state.reads).toHaveLength(4);
  });

  it('is tried anew by who asks after a reading that failed', async () => {
    const { state, views } = setUp();
    state.fails = true;
    await expect(views.view('main', 1)).rejects.toThrow('throttled');
    state.fails = false;

    expect(await views.view('main', 1)).toEqual(of(1));
  });
});

describe('what was seen of an account', () => {
  it('is what was read or listed in the last five seconds', async () => {
    const { clock, views } = setUp();
    expect(views.seen('main')).toBeUndefined();
    expect(await views.read('main')).toEqual({ value: of(1), version: 7 });
    clock.advance(5_000);
    expect(views.seen('main')?.account).toEqual(of(1));
    clock.advance(1);
    expect(views.seen('main')).toBeUndefined();

    expect(await views.list()).toEqual([of(1)]);
    expect(views.seen('main')?.account).toEqual(of(1));
    expect(views.seen('other')).toBeUndefined();
  });

  it('may be that there is none', async () => {
    const { state, views } = setUp();
    state.row = undefined;
    await views.read('main');

    expect(views.seen('main')).toMatchObject({ account: undefined });
  });

  it('is what was asked for last, though an earlier reading ends later', async () => {
    const { clock, state, views } = setUp();
    state.tookMs = [1_000];
    const slow = views.read('main');
    await clock.run(startMs + 100);
    state.row = of(2);
    await views.read('main');
    await clock.run();
    await slow;

    expect(views.seen('main')?.account?.generation).toBe(2);
  });

  it('is what a reading of the same moment said last', async () => {
    const { state, views } = setUp();
    await views.read('main');
    state.row = of(2);
    await views.read('main');

    expect(views.seen('main')?.account?.generation).toBe(2);
  });

  it('is nothing after this process has written or removed the row', async () => {
    const { state, views, removed } = setUp();
    await views.read('main');
    expect(await views.write(of(2), 7)).toBe(true);
    expect(views.seen('main')).toBeUndefined();
    expect(state.row).toEqual(of(2));

    await views.read('main');
    await views.remove('main');
    expect(views.seen('main')).toBeUndefined();
    expect(removed).toEqual(['main']);
  });
});

describe('an account that is kept in view', () => {
  it('is read four seconds after it was read last, whoever did that, until nobody needs it', async () => {
    const { clock, state, views } = setUp();
    await views.read('main');
    const releases = [views.keepInView('main'), views.keepInView('main')];
    await clock.run(startMs + 3_000);
    await views.read('main');
    await clock.run(startMs + 12_000);
    expect(state.reads).toEqual([0, 3_000, 7_000, 11_000]);

    releases[0]?.();
    await clock.run(startMs + 16_000);
    expect(state.reads).toHaveLength(5);
    releases[1]?.();
    await clock.run(startMs + 60_000);
    expect(state.reads).toHaveLength(5);
  });

  it('is read half a second later where nothing is known of it, and tried again so after failures', async () => {
    const { clock, state, views } = setUp();
    state.fails = true;
    const release = views.keepInView('main');
    await clock.run(startMs + 1_400);
    expect(state.reads).toEqual([500, 1_000]);

    state.fails = false;
    await clock.run(startMs + 5_600);
    expect(state.reads).toEqual([500, 1_000, 1_500, 5_500]);
    release();
    await clock.run();
  });

  it('is kept in view anew after it was let go', async () => {
    const { clock, state, views } = setUp();
    views.keepInView('main')();
    const release = views.keepInView('main');
    await clock.run(startMs + 600);

    expect(state.reads).toEqual([500]);
    release();
    await clock.run();
  });
});

import { describe, expect, it } from 'vitest';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const key = { partnerAccount: 'main', generation: 7 };
const progress = {
  id: 'a',
  state: 'running',
  source: 'list page',
  position: 1,
  listed: 100,
  malformed: 0,
  startedAt: '2026-11-20T12:00:00.000Z',
} as const;

describe('the progress of backfills in the state file', () => {
  it('is written over the version that was read, and over no other', async () => {
    const { backfills, bookKeeper, close } = openEmbeddedState(folder());
    expect(await backfills.read(key)).toBeUndefined();
    expect(await backfills.write(key, progress, 1)).toBe(false);

    expect(await backfills.write(key, progress, 0)).toBe(true);
    expect(await backfills.write(key, { ...progress, position: 9 }, 0)).toBe(false);
    expect(await backfills.read(key)).toEqual({ value: progress, version: 1 });
    expect(await backfills.write(key, { ...progress, position: 2 }, 1)).toBe(true);
    expect(await backfills.read(key)).toEqual({ value: { ...progress, position: 2 }, version: 2 });

    // The queue counts the messages that it accepts.
    expect(await bookKeeper.read('main', 7)).toMatchObject({ listed: 0 });
    close();
  });

  it('is one of each partner account and generation', async () => {
    const { backfills, close } = openEmbeddedState(folder());
    await backfills.write(key, progress, 0);
    expect(await backfills.read({ ...key, generation: 8 })).toBeUndefined();
    expect(await backfills.read({ ...key, partnerAccount: 'main2' })).toBeUndefined();
    close();
  });
});

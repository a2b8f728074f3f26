import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createConnections } from '../../../shared/partner-api/transport.ts';

describe('the connections', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are as many as there are, and can be taken again when they were released', () => {
    const connections = createConnections(2);

    expect([connections.take(), connections.take(), connections.take()]).toEqual([true, true, false]);
    connections.release();

    expect([connections.take(), connections.take()]).toEqual([true, false]);
  });

  it('go to those who wait, in order of asking, and not to who comes later', async () => {
    const connections = createConnections(1);
    connections.take();
    const given: string[] = [];
    const waits = ['first', 'second'].map(async (name) => {
      if (await connections.wait(1_000)) given.push(name);
    });

    connections.release();
    await waits[0];

    expect(given).toEqual(['first']);
    expect(connections.take()).toBe(false);
    connections.release();
    await waits[1];
    expect(given).toEqual(['first', 'second']);
    expect(connections.take()).toBe(false);
    connections.release();
    expect(connections.take()).toBe(true);
  });

  it('are not given to who has given up waiting', async () => {
    const connections = createConnections(1);
    connections.take();
    const late = connections.wait(20);
    const patient = connections.wait(100);

    vi.advanceTimersByTime(19);
    expect(await Promise.race([late, 'waiting'])).toBe('waiting');
    vi.advanceTimersByTime(1);
    expect(await late).toBe(false);
    connections.release();

    expect(await patient).toBe(true);
    connections.release();
    expect(connections.take()).toBe(true);
  });

  it('leave no timer behind for who has got one', async () => {
    const connections = createConnections(1);
    connections.take();
    const waited = connections.wait(60_000);
    connections.release();
    await waited;

    expect(vi.getTimerCount()).toBe(0);
  });
});

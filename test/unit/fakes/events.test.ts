import { describe, expect, it } from 'vitest';
import { createInMemoryEvents } from '../../fakes/event-publisher.ts';

describe('the in-memory bus', () => {
  it('keeps what it accepted in order, repetitions included', async () => {
    const events = createInMemoryEvents();
    for (const envelope of ['a', 'b', 'a']) await events.publish(envelope);
    expect(events.accepted).toEqual(['a', 'b', 'a']);
  });

  it('refuses what it is told to, until it accepts again', async () => {
    const events = createInMemoryEvents();
    events.refuse((envelope) => envelope === 'b');
    await events.publish('a');
    await expect(events.publish('b')).rejects.toMatchObject({ code: 'event-refused' });
    events.refuse();
    await expect(events.publish('a')).rejects.toThrow();
    events.accept();
    await events.publish('b');
    expect(events.accepted).toEqual(['a', 'b']);
  });
});

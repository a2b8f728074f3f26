import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDrain } from '../../../functions/drain/drain.ts';
import { type ChangedAdvert, messageIn } from '../../../shared/contract/messages.ts';
import { traceparentPattern } from '../../../shared/contract/traceparent.ts';
import { tracerFor } from '../../../shared/domain/trace.ts';
import { changedAdvert } from '../../helpers/records.ts';
import { createWorld, type World } from '../../helpers/world.ts';

describe('tracing', () => {
  let world: World;
  const waiting = async (): Promise<ChangedAdvert[]> => {
    const batch = await world.state.queue.receive({ maxGroups: 99, maxPerGroup: 9, visibilityMs: 0 });
    return batch.flatMap(({ message }) => message ?? []);
  };
  const parts = ({ traceparent = '' }: { traceparent?: string | undefined }) => traceparent.split('-');

  beforeEach(async () => {
    world = await createWorld();
  });

  /** A drain whose random bytes count up. */
  function tracedDrain() {
    let count = 0;
    const countUp = (bytes: number) => Buffer.alloc(bytes, ++count);
    return createDrain({ ...world.drainDeps, newTrace: tracerFor({ tracing: true }, countUp) });
  }

  it('gives each page a trace, and each of its messages a span ID of its own', async () => {
    world.service.state.pageSize = 2;
    for (const id of ['1', '2', '3']) world.service.change(id, 'active');

    await tracedDrain().round(world.options());

    const traceparents = (await waiting()).map(parts);
    expect(new Set(traceparents.map(([, trace]) => trace))).toHaveLength(2);
    expect(traceparents[0]?.[1]).toBe(traceparents[1]?.[1]);
    expect(new Set(traceparents.map(([, , span]) => span))).toHaveLength(3);
    for (const [version, trace, span, flags] of traceparents) {
      expect([version, flags]).toEqual(['00', '00']);
      expect(trace).toMatch(/^[\da-f]{32}$/);
      expect(span).toMatch(/^[\da-f]{16}$/);
    }
    const accepted = world.observer.lines.filter(({ message }) => message === 'page accepted');
    expect(accepted.map(({ fields }) => fields?.traceId)).toEqual([
      ...new Set(traceparents.map(([, trace]) => trace)),
    ]);
  });

  it('hands the traceparent of the message on to its event, as it is', async () => {
    world.service.change('1', 'active');
    await tracedDrain().round(world.options());
    const [message] = await waiting();

    await world.handleBatch();

    const [event] = world.advertEvents();
    expect(event?.detail.metadata.traceparent).toBe(message?.traceparent);
    expect(event?.detail.metadata.traceparent).toMatch(/^00-/);
  });

  it('leaves messages, rows and events as they are when it is off', async () => {
    world.service.change('1', 'active');
    await world.round();
    const [message] = await waiting();
    await world.handleBatch();

    expect(Object.keys(message ?? {})).not.toContain('traceparent');
    expect(world.events.accepted.join()).not.toContain('trace');
  });

  it('is switched on by the setting, with other IDs for each page', () => {
    const begin = tracerFor({ tracing: true }, randomBytes);

    const traces = [begin?.(), begin?.()];

    expect(tracerFor({ tracing: false }, randomBytes)).toBeUndefined();
    for (const trace of traces) {
      expect(trace?.traceparent()).toMatch(traceparentPattern);
      expect(trace?.traceparent()).toContain(trace?.id);
    }
    expect(traces[0]?.id).not.toBe(traces[1]?.id);
  });

  it.each([
    5,
    '',
    'none',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-00`,
    `ff-${'a'.repeat(32)}-b7ad6b7169203331-00`,
  ])('leaves out a traceparent that is %j, and the message is one all the same', (traceparent) => {
    const sent = changedAdvert();

    const read = messageIn(JSON.stringify({ ...sent, traceparent }));

    expect(read).toEqual({ message: sent });
  });
});

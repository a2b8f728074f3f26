import { beforeEach, describe, expect, it } from 'vitest';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;

describe('a feed', () => {
  let world: World;

  beforeEach(async () => {
    world = await createWorld();
  });

  /** Polls once a minute. @returns how many pages the service was asked for */
  async function pollFor(minutes: number): Promise<number> {
    const before = world.service.feedRequests.length;
    for (let minute = 0; minute < minutes; minute += 1) {
      await world.round();
      world.clock.advance(minuteMs);
    }
    return world.service.feedRequests.length - before;
  }

  it('is held with one dead letter when page after page has no ID', async () => {
    for (let entry = 0; entry < 50; entry += 1) world.service.list(`no-${entry}`);
    world.service.state.pageSize = 1;

    expect(await pollFor(10)).toBe(4);

    expect(await world.state.deadLetters.list()).toHaveLength(1);
    expect(await world.feed()).toMatchObject({ faultKind: 'contract-broken', needsPerson: true });
  });

  it('is read on in the same poll when a page has a malformed entry alone', async () => {
    world.service.list('no-1');
    world.service.change('1', 'active');
    world.service.state.pageSize = 1;

    expect(await pollFor(1)).toBe(2);

    expect(await world.books()).toMatchObject({ deadLettered: 1, inFlight: 1 });
    expect(await world.feed()).not.toHaveProperty('fault');
  });

  it('is held when its cursors come in a circle', async () => {
    let turn = 0;
    for (let id = 1; id <= 4; id += 1) world.service.change(String(id), 'active');
    world.service.state.pageSize = 1;
    world.service.state.beforePage = () => {
      world.service.state.nextCursor = String(turn++ % 3);
    };

    expect(await pollFor(5)).toBeLessThan(10);

    expect(await world.feed()).toMatchObject({ faultKind: 'contract-broken' });
  });

  it('is held when thirty empty pages in a row say that there is more', async () => {
    world.service.change('1', 'active');
    let turn = 0;
    world.service.state.pageSize = 0;
    world.service.state.beforePage = () => {
      world.service.state.nextCursor = `-${++turn}`;
    };

    expect(await pollFor(5)).toBe(30);
  });

  it('is held when its request is refused as wrong twice', async () => {
    world.service.state.beforePage = () => {
      throw new BridgeFault('invalid-request', 'limit', { status: 400 });
    };

    expect(await pollFor(5)).toBe(2);

    expect(await world.feed()).toMatchObject({ faultKind: 'invalid-request', needsPerson: true });
  });
});

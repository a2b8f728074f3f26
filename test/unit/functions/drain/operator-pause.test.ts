import { beforeEach, describe, expect, it } from 'vitest';
import { pollAnswerOf } from '../../../../functions/drain/drain.ts';
import { pause } from '../../../../operations/pause.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { toInstant } from '../../../../shared/domain/clock.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf } from '../../../helpers/holds.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const hourMs = 3_600_000;

describe('what an operator has paused', () => {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
    world.service.change('1', 'active');
  });

  const pauseFor = (name: string | undefined, forMs?: number) => {
    const bridge = { ...world.state, clock: world.clock, who: async () => 'ann' };
    return pause(bridge, name, { forMs });
  };
  const answer = async (only?: string) =>
    pollAnswerOf(await world.drain.round({ ...world.options(), ...(only !== undefined && { only }) }));

  it('is not polled, counts for no lag, and is polled again when the pause is over', async () => {
    await pauseFor('main', hourMs);
    const until = toInstant(world.clock.now() + hourMs);

    world.clock.advance(hourMs / 2);
    const report = await world.round();

    expect(report.lagSeconds).toBe(0);
    expect(pollAnswerOf(report)).toEqual({
      polls: [],
      notPolled: [{ partnerAccount: 'main', reason: 'paused by ann', until }],
    });
    world.clock.advance(hourMs / 2);
    expect((await answer()).polls).toMatchObject([{ end: 'up-to-date', listed: 1 }]);
  });

  it('has no end to show where it lasts until somebody resumes it', async () => {
    await pauseFor('main');
    expect((await answer('main')).notPolled).toEqual([{ partnerAccount: 'main', reason: 'paused by ann' }]);
  });

  it('keeps its feeds’ places in line where the whole bridge is paused, and counts for no lag', async () => {
    const before = (await world.feed())?.lastPolled;
    world.service.state.beforePage = () => {
      throw new BridgeFault('operator-paused', 'paused by ann');
    };
    world.clock.advance(hourMs);

    const report = await world.round();

    expect(report.lagSeconds).toBe(0);
    expect(pollAnswerOf(report).polls).toMatchObject([
      { end: 'fault', fault: 'operator-paused', reason: 'paused by ann' },
    ]);
    expect((await world.feed())?.lastPolled).toBe(before);
  });

  it('is connected again without a look at its feed, and stays paused, also with another user', async () => {
    await pauseFor('main');
    world.service.state.beforePage = () => {
      throw new Error('nothing is to be asked');
    };
    const connected = await world.connect.connect(
      { partnerAccount: 'main', code: new Secret('code'), newUser: true },
      world.options(),
    );

    expect(connected.feed).toMatchObject({ kind: 'failed', fault: 'operator-paused' });
    expect(holdOf(await world.account(), 'operator')).toMatchObject({ who: 'ann' });
    await world.connect.disconnect('main');
    expect(holdOf(await world.account(), 'operator')).toMatchObject({ who: 'ann' });
  });

  it('is told apart from what is polled: one partner account alone may be asked, which says nothing of the lag', async () => {
    const counted = () => world.observer.counted(metrics.feedLagSeconds);
    await world.round();
    const before = counted();
    world.clock.advance(hourMs);

    expect(await answer('nobody')).toEqual({ polls: [], notPolled: [] });
    expect((await answer('main')).polls).toMatchObject([
      { partnerAccount: 'main', feed: 'adverts', end: 'up-to-date' },
    ]);
    expect(counted()).toBe(before);
  });
});

import { describe, expect, it } from 'vitest';
import { type AuditDeps, maxFindings } from '../../../../functions/audit/audit.ts';
import { fullSource, namedSource } from '../../../../operations/audit/sources.ts';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import type { AdvertSource } from '../../../../shared/ports/backfills.ts';
import { createAuditedWorld } from './world.ts';

const listOf = (ids: readonly string[], pageSize = 10): AdvertSource => ({
  name: 'list page',
  async page(position) {
    const data = ids.slice(position, position + pageSize);
    return data.length === 0 ? undefined : { data, next: position + data.length };
  },
});

describe('an audit', () => {
  it('finds that all is as published, and does not wait for that', async () => {
    const { run, sample, clock } = await createAuditedWorld(30);
    const begun = clock.now();

    const { end, progress } = await run(sample(299));

    expect(end).toBe('done');
    expect(progress).toMatchObject({ state: 'done', checked: 30, equal: 30, population: 30, repaired: 0 });
    expect(progress).toMatchObject({ differing: [], neverPublished: [], undecided: [] });
    expect(clock.now() - begun).toBeLessThan(60_000);
  });

  it('names what was published last and what the service says, also for what is gone', async () => {
    const { run, sample, corrupt, change, catchUp, clock } = await createAuditedWorld(30);
    change('1005', null);
    await catchUp();
    clock.advance(600_000);
    await catchUp();
    await corrupt('1003', 'limited');
    await corrupt('1004', null);
    await corrupt('1005', 'active');

    const { progress } = await run(sample(299));

    expect(progress.equal).toBe(27);
    expect(progress.differing.toSorted((one, other) => (one.advertId < other.advertId ? -1 : 1))).toEqual([
      { advertId: '1003', published: 'limited', actual: 'active' },
      { advertId: '1004', published: null, actual: 'active' },
      { advertId: '1005', published: 'active', actual: null },
    ]);
  });

  it.each([
    ['before the feed was read', false],
    ['and is listed, but still in the queue', true],
  ])('has no false alarm for a change that was made %s', async (_, isListed) => {
    const world = await createAuditedWorld(20);
    world.change('1007', 'limited');
    if (isListed) await world.round();
    let sleeps = 0;
    const sleep: AuditDeps['poll']['clock']['sleep'] = async (ms, signal) => {
      await world.clock.sleep(ms, signal);
      // The bridge goes on meanwhile.
      if (ms < 1_000) return;
      sleeps += 1;
      await world.catchUp();
    };

    const { progress } = await world.run(
      world.sample(299),
      {},
      {
        poll: { ...world.deps.poll, clock: { ...world.clock, sleep } },
      },
    );

    expect(sleeps).toBeGreaterThan(0);
    expect(progress).toMatchObject({ equal: 20, differing: [], undecided: [] });
  });

  it('calls undecided what a change may explain that the bridge has not read', async () => {
    const { run, sample, change, service } = await createAuditedWorld(20);
    change('1007', 'limited');

    const { progress } = await run(sample(299));

    expect(progress).toMatchObject({ equal: 19, differing: [], undecided: ['1007'] });
    expect(service.fetched.filter((id) => id === '1007').length).toBeGreaterThan(1);
  });

  it('calls undecided what a message may explain that waits to the end, and tells it from what is wrong', async () => {
    const world = await createAuditedWorld(20);
    const { run, sample, change, round, corrupt, catchUp, clock } = world;
    change('1007', 'limited');
    await round();
    clock.advance(600_000);
    await round();
    await corrupt('1008', 'limited');

    const { progress } = await run(sample(299));
    expect(progress).toMatchObject({ equal: 18, differing: [{ advertId: '1008' }], undecided: ['1007'] });

    await catchUp();
    expect((await run(sample(299))).progress).toMatchObject({
      differing: [{ advertId: '1008' }],
      undecided: [],
    });
  });

  it('calls undecided an advert whose answer cannot be read, and goes on with the others', async () => {
    const { run, sample, service } = await createAuditedWorld(20);
    service.state.beforeAdvert = (id) => {
      if (id === '1007') throw new PartnerError('contract-broken', 'no status');
    };

    const { progress } = await run(sample(299));

    expect(progress).toMatchObject({ checked: 20, equal: 19, differing: [], undecided: ['1007'] });
  });

  it('finds an event that the bus may not have accepted, and a repair publishes it', async () => {
    const { run, sample, state, key, catchUp, events } = await createAuditedWorld(5);
    const advert = { ...key, feed: 'adverts', advertId: '1002' } as const;
    const row = await state.advertHistories.read(advert);
    if (row) await state.advertHistories.write(advert, { ...row, pending: true, version: row.version + 1 });

    const { progress } = await run(sample(299), { repair: true });
    await catchUp();

    expect(progress.differing).toEqual([
      { advertId: '1002', published: 'active', actual: 'active', owed: true },
    ]);
    expect(events.accepted.filter((text) => text === row?.envelope)).toHaveLength(2);
    expect((await run(sample(299))).progress).toMatchObject({ equal: 5 });
  });

  it('repairs each difference with one event, the next of its advert, and the books balance', async () => {
    const { run, sample, corrupt, catchUp, advertEvents, books } = await createAuditedWorld(40);
    for (const id of ['1003', '1017', '1031']) await corrupt(id, 'limited');
    const before = advertEvents().length;

    const { progress } = await run(sample(299), { repair: true });
    await catchUp();

    expect(progress).toMatchObject({ repaired: 3, checked: 40, equal: 37, population: 40 });
    expect(
      advertEvents()
        .slice(before)
        .map(({ detail }) => [
          detail.data.advertId,
          detail.metadata.sequence,
          detail.metadata.cause,
          detail.data.status,
        ])
        .sort(),
    ).toEqual([
      ['1003', 2, 'audit', 'active'],
      ['1017', 2, 'audit', 'active'],
      ['1031', 2, 'audit', 'active'],
    ]);
    expect(await books()).toMatchObject({ listed: 43, events: 43, inFlight: 0 });
    expect((await run(sample(299), { repair: true })).progress).toMatchObject({ equal: 40, repaired: 0 });
  });

  it('goes on where it was stopped, with the same sample', async () => {
    const world = await createAuditedWorld(400);
    const { run, sample, service, state, key, corrupt } = world;
    for (const id of world.ids.filter((_, index) => index % 10 === 0)) await corrupt(id, 'limited');
    const looked = () => service.fetched.splice(0);
    looked();
    const stopping = new AbortController();
    service.state.beforeAdvert = () => {
      if (service.fetched.length === 150) stopping.abort();
    };

    const stopped = await run(sample(299), { signal: stopping.signal });
    const first = looked();
    service.state.beforeAdvert = () => undefined;
    const { end, progress } = await run(sample(299));

    expect(stopped).toMatchObject({ end: 'stopped', progress: { state: 'running' } });
    expect(first.length).toBeLessThan(165);
    expect(end).toBe('done');
    expect(progress.id).toBe(stopped.progress.id);
    expect(progress.checked).toBe(299);
    expect(progress.equal + progress.differing.length).toBe(299);
    expect((await state.audits.read(key))?.value).toEqual(progress);
  });

  it('does not compare again what was decided before it was stopped', async () => {
    const { run, sample, service } = await createAuditedWorld(250);
    const stopping = new AbortController();
    service.state.beforeAdvert = () => {
      if (service.fetched.length >= before + 150) stopping.abort();
    };
    const before = service.fetched.length;

    const stopped = await run(sample(250), { signal: stopping.signal });
    service.state.beforeAdvert = () => undefined;
    service.fetched.length = 0;
    const { progress } = await run(sample(250));

    expect(stopped.progress.checked).toBe(100);
    expect(service.fetched).toHaveLength(150);
    expect(progress).toMatchObject({ checked: 250, equal: 250 });
  });

  it.each([
    ['the day after', 25 * 3_600_000, 40],
    ['with another sample', 0, 41],
  ])('begins anew %s', async (_, laterMs, size) => {
    const { run, sample, service, clock } = await createAuditedWorld(250);
    const stopped = await run(sample(40), { signal: AbortSignal.abort() });
    clock.advance(laterMs);
    service.fetched.length = 0;

    const { progress } = await run(sample(size));

    expect(progress.id).not.toBe(stopped.progress.id);
    expect(service.fetched).toHaveLength(size);
  });

  it('waits as long as the service asks for, and tries again what fails in passing', async () => {
    const { run, sample, service, clock, steps } = await createAuditedWorld(20);
    const faults = [
      new PartnerError('paused', 'not sent', { retryAfterMs: 900_000 }),
      new PartnerError('transient', 'no answer'),
    ];
    service.state.beforeAdvert = () => {
      const fault = faults.shift();
      if (fault) throw fault;
    };
    const begun = clock.now();

    const { progress } = await run(sample(299));

    expect(progress).toMatchObject({ equal: 20, undecided: [] });
    expect(clock.now() - begun).toBeGreaterThan(900_000);
    expect(steps.some(({ waitsFor }) => waitsFor === 'service')).toBe(true);
  });

  it('ends with the fault of a service that stays down, and can be continued', async () => {
    const { run, sample, service } = await createAuditedWorld(20);
    const well = { ...service.state };
    const fails = () => {
      throw new PartnerError('transient', 'no answer');
    };
    Object.assign(service.state, { beforeAdvert: fails, beforePage: fails });
    await expect(run(sample(299))).rejects.toMatchObject({ code: 'transient' });

    Object.assign(service.state, well);
    expect(await run(sample(299))).toMatchObject({ end: 'done', progress: { equal: 20 } });
  });

  it('compares all that was published, and finds in the list what never was', async () => {
    const { run, state, key, ids, service, corrupt, catchUp, advertEvents } = await createAuditedWorld(120);
    await corrupt('1007', 'limited');
    // Known to the service from before the bridge: the feed has never named it.
    service.know('5', 'active');
    const full = () => fullSource(state.publishedAdverts, key, listOf(['5', ...ids.slice(50)]));
    service.fetched.length = 0;

    const found = await run(full(), { repair: true });
    const asked = service.fetched.length;
    await catchUp();

    expect(found.progress).toMatchObject({ checked: 121, equal: 119, neverPublished: ['5'], repaired: 2 });
    expect(found.progress.differing).toEqual([{ advertId: '1007', published: 'limited', actual: 'active' }]);
    // Each published advert once, the one that differs once more.
    expect(asked).toBe(121);
    const first = advertEvents().find(({ detail }) => detail.data.advertId === '5');
    expect(first?.detail.metadata).toMatchObject({ cause: 'audit', sequence: 1 });
    expect((await run(full())).progress).toMatchObject({ checked: 121, equal: 121 });
  });

  it('compares the adverts that a person names, known or not', async () => {
    const { run, service, change } = await createAuditedWorld(10);
    service.know('5', 'active');
    change('1003', 'limited');

    const { progress } = await run(namedSource(listOf(['1001', '5', '999'])));

    expect(progress).toMatchObject({ checked: 3, equal: 2, differing: [], neverPublished: ['5'] });
  });

  it(`ends when more than ${maxFindings} differ`, async () => {
    const { run, sample, ids, corrupt } = await createAuditedWorld(maxFindings + 300);
    for (const id of ids) await corrupt(id, 'limited');

    const { end, progress } = await run(sample(maxFindings + 300));

    expect(end).toBe('too-many');
    expect(progress.differing.length).toBeGreaterThanOrEqual(maxFindings);
    expect(progress.checked).toBeLessThan(ids.length);
  });

  it('steps back when another process audits the same partner account', async () => {
    const { run, sample, service, state, key } = await createAuditedWorld(250);
    service.state.beforeAdvert = () => {
      if (service.fetched.length % 60 !== 0) return;
      void state.audits
        .read(key)
        .then((stored) => stored && state.audits.write(key, stored.value, stored.version, 0));
    };

    expect(await run(sample(250))).toMatchObject({ end: 'taken-over' });
  });
});

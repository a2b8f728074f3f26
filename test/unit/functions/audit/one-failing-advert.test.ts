import { describe, expect, it } from 'vitest';
import { createDailyAudit } from '../../../../functions/audit/daily-audit.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { createAuditedWorld } from './world.ts';

const quarterMs = 15 * 60_000;

async function createDailyAuditedWorld(adverts: number) {
  const world = await createAuditedWorld(adverts);
  const { deps, state, clock } = world;
  const observer = createRecordingObserver();
  const audit = createDailyAudit({
    ...{ ...deps, sample: adverts, observer, accounts: state.partnerAccounts, audits: state.dailyAudits },
    publishedAdverts: state.publishedAdverts,
  });
  const run = () =>
    audit.run({ deadlineMs: clock.now() + 14 * 60_000, signal: new AbortController().signal });
  async function nextRun() {
    clock.advance(quarterMs);
    await world.catchUp();
    return run();
  }
  const progress = async () => (await state.dailyAudits.read(world.key))?.value;
  const failing = (advertId: string) => {
    world.service.state.beforeAdvert = (id) => {
      if (id === advertId) throw new PartnerError('transient', 'the service answered 500');
    };
  };
  return { ...world, run, nextRun, progress, failing };
}

describe('one advert that the service always answers with 500', () => {
  it('does not keep the daily audit from comparing the others', async () => {
    const { run, nextRun, progress, failing } = await createDailyAuditedWorld(40);
    failing('1007');

    await run();
    // Two days.
    for (let runs = 0; runs < 192; runs += 1) await nextRun();

    expect(await progress()).toMatchObject({ checked: 40, equal: 39 });
  });

  it('does not keep a difference that was mended in the alarm', async () => {
    const { run, nextRun, corrupt, change, failing } = await createDailyAuditedWorld(40);
    await corrupt('1003', 'limited');
    await corrupt('1004', 'limited');
    await run();
    expect(await nextRun()).toEqual({ standing: 2 });

    failing('1004');
    change('1003', 'sold');
    for (let runs = 0; runs < 8; runs += 1) await nextRun();

    expect(await nextRun()).toEqual({ standing: 1 });
  });

  it('does not keep an audit that a person starts from comparing the others', async () => {
    const { run, sample, service } = await createAuditedWorld(40);
    service.state.beforeAdvert = (id) => {
      if (id === '1007') throw new PartnerError('transient', 'the service answered 500');
    };

    let result = await run(sample(299)).catch((error: unknown) => error);
    for (let more = 0; more < 3 && result instanceof Error; more += 1)
      result = await run(sample(299)).catch((error: unknown) => error);

    expect(result).toMatchObject({ end: 'done', progress: { checked: 40, equal: 39, undecided: ['1007'] } });
  });
});

describe('an audit that gets on no more', () => {
  it.each(['1000', '1039'])(
    'is none for one advert, %s, that fails alone after or before all others',
    async (failing) => {
      const { run, sample, service } = await createAuditedWorld(40);
      service.state.beforeAdvert = (id) => {
        if (id === failing) throw new PartnerError('transient', 'the service answered 500');
      };

      const ends = [];
      for (let more = 0; more < 40; more += 1)
        ends.push(await run(sample(299)).catch((error: Error) => error.message));

      expect(ends).not.toContain('the service answered 500');
    },
  );

  it('is one where the whole service fails, which leaves nothing undecided', async () => {
    const { run, sample, service } = await createAuditedWorld(40);
    let asked = 0;
    service.state.beforeAdvert = () => {
      asked += 1;
      if (asked > 17) throw new PartnerError('transient', 'the service answered 503');
    };

    await expect(run(sample(299))).rejects.toThrow('the service answered 503');
    asked = 0;
    service.state.beforeAdvert = () => undefined;

    expect(await run(sample(299))).toMatchObject({ end: 'done', progress: { equal: 40, undecided: [] } });
  });

  it('ends without a fault where no time is left to try again', async () => {
    const { run, sample, service, clock } = await createAuditedWorld(40);
    service.state.beforeAdvert = () => {
      throw new PartnerError('transient', 'the service answered 503');
    };

    expect(await run(sample(299), { deadlineMs: clock.now() + 3_000 })).toMatchObject({ end: 'out-of-time' });
  });

  it('begins anew after a day', async () => {
    const { run, nextRun, progress, service } = await createDailyAuditedWorld(40);
    const fails = () => {
      throw new PartnerError('transient', 'the service answered 503');
    };
    Object.assign(service.state, { beforeAdvert: fails, beforePage: fails });
    await run();
    const first = await progress();
    for (let runs = 0; runs < 100; runs += 1) await nextRun();

    expect((await progress())?.id).not.toBe(first?.id);
  });
});

describe('one row that cannot be read, such as one of a newer form', () => {
  it('does not keep the daily audit from comparing the other adverts', async () => {
    const world = await createAuditedWorld(40);
    const { deps, state, clock, key } = world;
    const audit = createDailyAudit({
      ...{ ...deps, sample: 40, observer: createRecordingObserver(), accounts: state.partnerAccounts },
      ...{ audits: state.dailyAudits, publishedAdverts: state.publishedAdverts },
      histories: {
        async read(history) {
          if (history.advertId === '1007')
            throw new ShapeError('row', [{ path: 'form', expected: 'expected 1' }]);
          return state.advertHistories.read(history);
        },
      },
    });
    const run = () =>
      audit.run({ deadlineMs: clock.now() + 14 * 60_000, signal: new AbortController().signal });

    for (let runs = 0; runs < 4; runs += 1) {
      await run().catch(() => undefined);
      clock.advance(quarterMs);
    }

    expect((await state.dailyAudits.read(key))?.value).toMatchObject({ checked: 40, equal: 39 });
  });
});

import { describe, expect, it, vi } from 'vitest';
import { createDailyAudit, type DailyAuditDeps } from '../../../../functions/audit/daily-audit.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { createAuditedWorld } from './world.ts';

const quarterMs = 15 * 60_000;
const dayMs = 24 * 60 * 60_000;

/** A bridge with a daily audit, in which each `run` has `minutes` of time. */
async function createDailyAuditedWorld(
  adverts: number,
  sample: number,
  more: Partial<DailyAuditDeps> = {},
  settings: { readonly overlapSeconds?: number } = {},
) {
  const world = await createAuditedWorld(adverts);
  const { state, clock } = world;
  const { poll, ...rest } = world.deps;
  const deps = { ...rest, poll: { ...poll, settings: { ...poll.settings, ...settings } } };
  const observer = createRecordingObserver();
  const audit = createDailyAudit({
    ...{ ...deps, sample, observer, accounts: state.partnerAccounts, audits: state.dailyAudits },
    ...{ publishedAdverts: state.publishedAdverts, ...more },
  });
  const run = (minutes = 14) =>
    audit.run({ deadlineMs: clock.now() + minutes * 60_000, signal: new AbortController().signal });
  /** The next run, with all that the bridge does until then. */
  async function nextRun(minutes?: number) {
    clock.advance(quarterMs);
    await world.catchUp();
    return run(minutes);
  }
  const progress = async () => (await state.dailyAudits.read(world.key))?.value;
  const said = (level: string) =>
    observer.lines.filter((line) => line.level === level).map(({ message }) => message);
  return { ...world, observer, said, run, nextRun, progress };
}

describe('the daily audit', () => {
  it('compares a sample once a day, and asks for nothing in between', async () => {
    const { run, nextRun, progress, service, said, observer, clock } = await createDailyAuditedWorld(40, 20);
    service.fetched.length = 0;

    await run();
    const first = await progress();
    for (let runs = 0; runs < 4; runs += 1) await nextRun();

    expect(service.fetched).toHaveLength(20);
    expect(first).toMatchObject({ state: 'done', checked: 20, equal: 20, population: 40 });
    expect(said('info')).toContain('the audit found no difference');
    expect(observer.counted(metrics.auditDifferences)).toBe(0);

    clock.advance(dayMs);
    await nextRun();
    expect(service.fetched).toHaveLength(40);
    expect((await progress())?.id).not.toBe(first?.id);
  });

  it('finds a difference in one run and confirms it in the next, when the feed lists what may explain it', async () => {
    const { run, nextRun, progress, corrupt, observer } = await createDailyAuditedWorld(20, 20);
    await corrupt('1003', 'limited');

    expect(await run(8)).toEqual({ standing: 0 });
    expect(await progress()).toMatchObject({
      state: 'running',
      open: { looks: [{ advertId: '1003', published: 'limited', actual: 'active' }] },
    });

    expect(await nextRun(8)).toEqual({ standing: 1 });
    expect(await progress()).toMatchObject({ state: 'done', checked: 20, equal: 19 });
    expect(observer.lines.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/^the audit found published statuses that are wrong: .*--repair/),
        fields: expect.objectContaining({ partnerAccount: 'main', differing: 1, adverts: ['1003'] }),
      }),
    ]);
  });

  it('confirms a difference also where changes may take a day to be listed', async () => {
    const settings = { overlapSeconds: 86_400 };
    const { run, nextRun, corrupt } = await createDailyAuditedWorld(20, 20, {}, settings);
    await corrupt('1003', 'limited');
    await run();

    let found = await nextRun();
    for (let runs = 0; runs < 3 * 96 && found.standing === 0; runs += 1) found = await nextRun();

    expect(found).toEqual({ standing: 1 });
  });

  it('has no false alarm for what changed between the two looks', async () => {
    const { run, nextRun, change } = await createDailyAuditedWorld(20, 20);
    change('1003', 'limited');

    await run(8);

    expect(await nextRun(8)).toEqual({ standing: 0 });
  });

  it('counts a difference, also into the next day, until it is mended, by whom ever', async () => {
    const { run, nextRun, corrupt, change, clock, observer } = await createDailyAuditedWorld(40, 40);
    await corrupt('1003', 'limited');
    await corrupt('1004', 'limited');
    await run();
    expect(await nextRun()).toEqual({ standing: 2 });

    clock.advance(dayMs);
    expect(await nextRun(2)).toEqual({ standing: 2 });
    expect(await nextRun()).toEqual({ standing: 2 });

    change('1003', 'sold');
    expect(await nextRun()).toEqual({ standing: 1 });
    change('1004', 'sold');
    expect(await nextRun()).toEqual({ standing: 0 });
    expect(observer.counted(metrics.auditDifferences)).toBe(2 + 2 + 2 + 2 + 1);
  });

  it('goes on where the time of a run ended, at half the rate at most', async () => {
    const world = await createDailyAuditedWorld(400, 400);
    const { run, nextRun, progress, service, clock } = world;
    service.fetched.length = 0;
    const begun = clock.now();

    await run(1);

    const first = service.fetched.length;
    expect(await progress()).toMatchObject({ state: 'running', checked: first, equal: first });
    expect(first).toBeGreaterThan(100);
    // Five a second, for half of the time that it has.
    expect(first).toBeLessThanOrEqual(5 * 30 + 20);
    expect(clock.now() - begun).toBeLessThan(60_000);
    await nextRun(1);
    await nextRun(1);
    expect(await progress()).toMatchObject({ state: 'done', checked: 400, equal: 400 });
    expect(service.fetched).toHaveLength(400);
  });

  it('does not sit out a pause that the service asks for, and loses nothing by it', async () => {
    const { run, nextRun, progress, service, clock } = await createDailyAuditedWorld(30, 30);
    service.state.beforeAdvert = () => {
      throw new PartnerError('paused', 'not sent', { retryAfterMs: 3_600_000 });
    };
    const begun = clock.now();

    expect(await run()).toEqual({ standing: 0 });
    expect(clock.now() - begun).toBeLessThan(14 * 60_000);

    service.state.beforeAdvert = () => undefined;
    await nextRun();
    expect(await progress()).toMatchObject({ state: 'done', checked: 30, equal: 30 });
  });

  it('asks nothing for a partner account that somebody has paused', async () => {
    const { run, service, state, clock } = await createDailyAuditedWorld(10, 10);
    await state.partnerAccounts.change('main', (account) => ({
      ...account,
      operatorPause: { who: 'me', since: clock.now() },
    }));
    service.fetched.length = 0;

    expect(await run()).toEqual({ standing: 0 });
    expect(service.fetched).toEqual([]);
  });

  it('tells of a fault of the service and tries again, and ends with any other', async () => {
    const { run, service, said } = await createDailyAuditedWorld(10, 10);
    service.state.beforeAdvert = () => {
      throw new PartnerError('account-stopped', 'stopped');
    };
    expect(await run()).toEqual({ standing: 0 });
    expect(said('warn')).toEqual(['an audit could not go on: the next run tries again']);

    const broken = await createDailyAuditedWorld(10, 10, {
      publishedAdverts: { page: () => Promise.reject(new Error('no table')) },
    });
    await expect(broken.run()).rejects.toThrow('no table');
  });

  it('goes on with the other partner accounts where what is stored of one cannot be read', async () => {
    const { run, said, observer, progress, state, clock } = await createDailyAuditedWorld(10, 10);
    const connectedAt = new Date(clock.now()).toISOString();
    await state.partnerAccounts.add({ name: 'another', generation: 7, connectedAt });
    const read = state.dailyAudits.read.bind(state.dailyAudits);
    vi.spyOn(state.dailyAudits, 'read').mockImplementation(async (key) => {
      if (key.partnerAccount === 'main') return read(key);
      throw new ShapeError('progress of the audit', [{ path: '', expected: 'expected JSON' }]);
    });

    expect(await run()).toEqual({ standing: 0 });

    expect(await progress()).toMatchObject({ state: 'done', checked: 10 });
    expect(said('error')).toEqual(['a stored row cannot be read: its partner account is not audited']);
    expect(observer.counted(metrics.needsAttention)).toBe(1);
  });
});

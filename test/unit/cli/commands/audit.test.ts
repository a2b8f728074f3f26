import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, vi } from 'vitest';
import { percent } from '../../../../cli/commands/audit/text.ts';
import { systemClock } from '../../../../shared/domain/clock.ts';
import { stateFileIn } from '../../../../shared/sqlite/file/state-file.ts';
import { startLocal } from '../local-bridge.ts';

/** A bridge on which every advert of the service was published. */
async function startPublished() {
  const local = await startLocal();
  await local.application();
  await local.connect();
  await local.run('backfill main');
  await local.run('run --until-idle --max-requests-per-second 10000 --confirm-unavailable-seconds 0');
  const adverts = local.sandbox.control.truth();
  const audit = async (more = '', options = {}) =>
    local.run(`audit main --max-requests-per-second 10000${more}`, options);

  /** Writes another status into the state: what a lost change leaves behind. */
  function corrupt(...ids: readonly string[]): void {
    const db = new DatabaseSync(stateFileIn(local.dir));
    for (const id of ids) {
      db.prepare(
        `UPDATE advert_histories SET row = json_set(row, '$.status', 'wrong') WHERE key LIKE 'main/%/' || ?`,
      ).run(id);
    }
    db.close();
  }
  return { ...local, adverts, audit, corrupt };
}

/** The seconds that an audit waits for the feed pass at once. */
function passSeconds(): void {
  const { sleep, now } = systemClock;
  let passed = 0;
  vi.spyOn(systemClock, 'now').mockImplementation(() => now() + passed);
  vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => {
    if (ms !== 1_000) return sleep(ms, signal);
    passed += ms;
    return new Promise((resolve) => void setImmediate(resolve));
  });
}

describe('audit', () => {
  it('says on standard output that all is as published', async () => {
    const { audit, adverts } = await startPublished();

    const { exitCode, stdout, stderr } = await audit();

    expect(exitCode).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toBe(
      `${adverts.length} adverts compared: ${adverts.length} are as published, 0 differ, 0 were never published, ` +
        '0 are undecided.\nThat is all of them: 0 % were wrong.\n',
    );
  });

  it('says so of one advert, and where none was published', async () => {
    const { audit, adverts } = await startPublished();
    const none = await startLocal();
    await none.application();
    await none.connect();

    expect((await audit(' --ids -', { stdin: `${adverts[0]?.id}\n` })).stdout).toBe(
      '1 advert compared: 1 is as published, 0 differ, 0 were never published, 0 are undecided.\n',
    );
    expect(await none.run('audit main')).toMatchObject({
      exitCode: 0,
      stdout: 'No advert was compared, because none has been published yet.\n',
    });
  });

  it('bounds the share of all by what a sample shows', async () => {
    const { audit } = await startPublished();

    expect((await audit(' --sample 10')).stdout).toContain(
      'Of all published adverts at most 26 % are wrong (95 % confidence).',
    );
    expect(JSON.parse((await audit(' --sample 10 --json')).stdout)).toEqual({
      ...{ partnerAccount: 'main', end: 'done', checked: 10, equal: 10 },
      ...{ differing: [], neverPublished: [], undecided: [], repaired: 0 },
      bound: { confidence: 0.95, mostWrong: expect.closeTo(0.2589, 4) },
    });
  });

  it('names what differs, and what to do; repairs it, and finds nothing after that', async () => {
    const { audit, adverts, corrupt, run } = await startPublished();
    passSeconds();
    const [one = { id: '', status: '' }, other = { id: '', status: '' }] = adverts;
    corrupt(one.id, other.id);

    const found = await audit();
    const ids = await audit(' --ids - --json', { stdin: `${one.id}\n` });
    const repaired = await audit(' --repair --json');
    const events = (await run('run --until-idle')).stdout.trim().split('\n');
    const after = await audit();

    expect(found.exitCode).toBe(3);
    expect(found.stdout).toContain(`${one.id}: published as "wrong", the service says "${one.status}"\n`);
    expect(found.stderr).toContain('docs/operate/runbook.md, AuditDifferences');
    expect(found.stderr).toContain('advert-bridge audit main --ids FILE --repair --local');
    expect(ids.exitCode).toBe(3);
    expect(JSON.parse(ids.stdout)).toMatchObject({
      differing: [{ advertId: one.id, published: 'wrong', actual: one.status }],
      bound: null,
    });
    expect(repaired.exitCode).toBe(0);
    expect(JSON.parse(repaired.stdout)).toMatchObject({ differing: [{}, {}], repaired: 2 });
    expect(events.map((line) => JSON.parse(line).detail.metadata.cause)).toEqual(['audit', 'audit']);
    expect(after.exitCode).toBe(0);
  });

  it('looks for adverts that were never published, as the list names them', async () => {
    const { audit, sandbox } = await startPublished();
    passSeconds();
    // Beyond what the feed still lists.
    const [created = ''] = sandbox.control.createAdverts(1);

    const full = await audit(' --full --json');
    const repaired = await audit(' --full --repair');

    // The bridge does not run: a change that it has not read may explain it.
    expect(JSON.parse(full.stdout)).toMatchObject({ neverPublished: [], undecided: [created] });
    expect(full.exitCode).toBe(3);
    expect(repaired).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('1 was sent through') });
    expect(repaired.stdout).toContain('That is all of them: at most 4.8 % were wrong.');
  });

  it('stops, and the same command goes on', async () => {
    const { audit } = await startPublished();

    const stopped = await audit('', { signal: AbortSignal.abort() });

    expect(stopped).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('Stopped before the end') });
    expect(stopped.stderr).toContain('To continue: the same command, within a day');
    expect((await audit()).exitCode).toBe(0);
  });

  it.each([
    ['audit main --sample 5 --full', 2, '--sample, --full and --ids exclude each other'],
    ['audit main --sample 0', 2, '--sample: expected a whole number from 1 to 1000000'],
    ['audit mian', 2, 'no such partner account. Known: main'],
  ])('refuses %s', async (args, exitCode, expected) => {
    const local = await startLocal();
    await local.application();
    await local.connect();

    const refused = await local.run(args);

    expect(refused).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(expected) });
  });

  it('rounds shares up, so that nothing is promised that was not shown', () => {
    expect([0, 0.00997, 0.0009997, 0.0158, 1, 0.0001].map(percent)).toEqual([
      ...['0 %', '1 %', '0.1 %', '1.6 %', '100 %', '0.01 %'],
    ]);
  });
});

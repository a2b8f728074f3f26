import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { machineFacts } from '../../../../operations/doctor/folder-checks.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { type EmbeddedState, openEmbeddedState } from '../../../../shared/sqlite/state.ts';
import { childProcesses } from '../../../helpers/child-process.ts';
import { holdBridge, serviceHold, stopped } from '../../../helpers/holds.ts';
import { changedAdvert, deadLetter } from '../../../helpers/records.ts';
import { type Local, startLocal } from '../local-bridge.ts';
import { badIn, expectFound, resultsIn } from './results.ts';

async function healthy(): Promise<Local> {
  const local = await startLocal();
  await local.application();
  await local.connect();
  return local;
}

/** Every byte of the folder, with names, modes and times. */
function bytesOf(dir: string): unknown {
  if (!existsSync(dir) || !lstatSync(dir).isDirectory()) return undefined;
  return readdirSync(dir).map((name) => {
    const file = path.join(dir, name);
    const { mode, mtimeMs, ino } = lstatSync(file);
    return [name, mode, mtimeMs, ino, createHash('sha256').update(readFileSync(file)).digest('hex')];
  });
}

async function doctor({ dir, run }: Local) {
  const before = bytesOf(dir);
  const ended = await run('doctor --json');
  expect(bytesOf(dir)).toEqual(before);
  return ended;
}

async function change({ dir }: Local, work: (state: EmbeddedState) => Promise<unknown>): Promise<void> {
  const state = openEmbeddedState(dir);
  await work(state);
  state.close();
}

function sql({ dir }: Local, ...statements: string[]): void {
  const db = new DatabaseSync(path.join(dir, 'bridge.db'));
  for (const statement of statements) db.exec(statement);
  db.close();
}

const changeAccount = (local: Local, to: (account: PartnerAccount) => PartnerAccount) =>
  change(local, async ({ partnerAccounts }) => void (await partnerAccounts.change('main', to)));

/** Overwrites the root page of a table, or of an index: by default one that nothing reads. */
function damage({ dir }: Local, name = 'unsent_due'): void {
  const file = path.join(dir, 'bridge.db');
  const db = new DatabaseSync(file);
  const { page } = db.prepare('SELECT rootpage AS page FROM sqlite_schema WHERE name = ?').get(name) as {
    page: number;
  };
  const { page_size: size } = db.prepare('PRAGMA page_size').get() as { page_size: number };
  db.close();
  const bytes = readFileSync(file);
  bytes.fill(0xab, (page - 1) * size, page * size);
  writeFileSync(file, bytes);
}

type Plant = (local: Local) => unknown;
const held =
  (kind: 'service' | 'circuit', untilMs: number): Plant =>
  (local) =>
    change(local, ({ budgetStore }) => holdBridge(budgetStore, serviceHold(kind, Date.now() + untilMs)));
const newPair =
  (given: { scope?: string; accessToken?: Secret }): Plant =>
  (local) =>
    change(local, async ({ vault }) => {
      const { pair } = (await vault.read('main')) ?? expect.fail('connected');
      await vault.write('main', { ...pair, ...given });
    });
const goneHook = 'https://a.example/hook';
const trouble = { since: Date.now(), reason: '410', gone: true };
const refused = { ...serviceHold('service', Date.now() + 600_000), fault: 'transient' as const };
const inFolder =
  (act: (dir: string) => unknown): Plant =>
  ({ dir }) =>
    act(dir);
const begin = /advert-bridge application --base-url URL .*--local/;
const connectAgain = 'advert-bridge connect main --open';
const restoreIt = 'Restore the folder from a backup';

/** What is found, where; how it came about; what mends it. */
const planted: readonly [is: string, found: string, plant: Plant, mend: RegExp | string][] = [
  ['no bridge in the folder', 'folder fault', inFolder((dir) => rmSync(dir, { recursive: true })), begin],
  [
    'a file in place of the folder',
    'folder fault',
    inFolder((dir) => {
      rmSync(dir, { recursive: true });
      writeFileSync(dir, '');
    }),
    '--local',
  ],
  [
    'a folder of another user',
    'owner fault',
    () => vi.spyOn(process, 'geteuid').mockReturnValue(12_345),
    'chown -R 12345',
  ],
  [
    'a state file that is a link',
    'owner fault',
    inFolder((dir) => symlinkSync('/dev/null', path.join(dir, 'run.lock'))),
    'Put the file itself in its place',
  ],
  [
    'a state file that others may read',
    'file-modes fault',
    inFolder((dir) => chmodSync(path.join(dir, 'bridge.db'), 0o644)),
    /^`chmod 600 .*bridge\.db`/,
  ],
  ['a folder open to others', 'file-modes fault', inFolder((dir) => chmodSync(dir, 0o777)), /^`chmod 700 /],
  ['a damaged page', 'state-file fault', (local) => damage(local), 'docs/operate/backup.md'],
  ['a damaged page of rows', 'state-file fault', (local) => damage(local, 'rows'), restoreIt],
  [
    'a file that is no state',
    'state-file fault',
    inFolder((dir) => writeFileSync(path.join(dir, 'bridge.db'), 'x'.repeat(8192))),
    restoreIt,
  ],
  ['a newer state', 'state-file fault', (local) => sql(local, 'PRAGMA user_version=99'), 'Use the newer one'],
  [
    'a log that was copied without its index',
    'state-file warning',
    inFolder((dir) => writeFileSync(path.join(dir, 'bridge.db-wal'), 'x', { mode: 0o600 })),
    'advert-bridge status --local',
  ],
  [
    'no base URL',
    'application fault',
    (local) => sql(local, "DELETE FROM rows WHERE name = 'setting/base-url'"),
    begin,
  ],
  [
    'a wrong client secret',
    'application-credentials fault',
    ({ application }) => application('another-secret'),
    begin,
  ],
  [
    'a base URL where no partner service is',
    'application-credentials fault',
    ({ application, sandbox }) => application(undefined, `${sandbox.url}/elsewhere`),
    'advert-bridge application --base-url URL',
  ],
  [
    'a clock that is two hours off',
    'clock warning',
    ({ sandbox }) => sandbox.control.clock.advance(7_200_000),
    'timedatectl set-ntp true',
  ],
  [
    'a clock that is days off',
    'clock fault',
    ({ sandbox }) => sandbox.control.clock.set(Date.now() - 3 * 86_400_000),
    'tell the partner service',
  ],
  [
    'a partner account that is stopped',
    'partner-accounts fault',
    (local) => changeAccount(local, (account) => ({ ...account, ...stopped('refresh-token-rejected') })),
    connectAgain,
  ],
  [
    'no token pair',
    'tokens fault',
    (local) => sql(local, "DELETE FROM rows WHERE kind = 'tokens'"),
    connectAgain,
  ],
  [
    'a token of too small a scope',
    'tokens warning',
    newPair({ scope: 'v2 read' }),
    /connect main --open .*run --required-scope/,
  ],
  [
    'a token pair that the row does not name',
    'tokens warning',
    newPair({ accessToken: new Secret('another') }),
    'advert-bridge run',
  ],
  [
    'a dead letter',
    'dead-letters warning',
    (local) => change(local, ({ deadLetters }) => deadLetters.sendMalformed([deadLetter()])),
    'advert-bridge dead-letters redrive --all',
  ],
  [
    'changes that wait while nobody runs the bridge',
    'run fault',
    (local) => change(local, ({ queue }) => queue.send([changedAdvert()])),
    'advert-bridge run --local',
  ],
  [
    'an account whose requests all get the same fault',
    'delivery fault',
    (local) => changeAccount(local, (account) => ({ ...account, holds: [refused] })),
    'docs/operate/runbook.md',
  ],
  [
    'a webhook that is gone',
    'delivery fault',
    (local) =>
      change(local, async ({ webhooks, eventLog }) => {
        await eventLog.begin(goneHook);
        await webhooks.settle(goneHook, { trouble });
      }),
    'advert-bridge webhook URL --forget',
  ],
  ['a pause that the service asked for', 'pause warning', held('service', 600_000), /resume --early --local/],
  ['an open circuit', 'pause fault', held('circuit', -1), 'advert-bridge resume --early --local'],
];

describe('doctor --local', () => {
  it('finds nothing where all is right, and changes nothing', async () => {
    const ended = await doctor(await healthy());

    expect(new Set(resultsIn(ended).map(({ result }) => result))).toEqual(new Set(['ok']));
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it.each(planted)('finds %s, and nothing else', async (_is, found, plant, mend) => {
    const local = await healthy();
    await plant(local);

    expectFound(await doctor(local), { found, mend });
  });

  it('finds a service that does not answer', async () => {
    const local = await healthy();
    await local.sandbox.close();

    expectFound(await doctor(local), {
      found: 'application-credentials fault',
      mend: 'advert-bridge application --base-url URL',
    });
  });

  it('asks nothing of a service that wants to be left alone', async () => {
    const local = await healthy();
    await held('service', 600_000)(local);
    local.sandbox.control.journal.clear();

    const checks = resultsIn(await doctor(local));

    expect(local.sandbox.control.journal.list()).toEqual([]);
    const skipped = checks.filter(({ result }) => result === 'skipped');
    expect(skipped.map(({ name }) => name)).toEqual(['application-credentials', 'clock']);
  });

  it('uses no token of a partner account: one request asks for a token of the application', async () => {
    const local = await healthy();
    local.sandbox.control.journal.clear();

    await doctor(local);

    expect(local.sandbox.control.journal.list()).toMatchObject([
      { endpoint: 'token', grantType: 'client_credentials' },
    ]);
  });

  it('tells in words what it found, with what mends it below', async () => {
    const local = await healthy();
    await local.application('another-secret');

    const { stdout, stderr, exitCode } = await local.run('doctor');

    expect(stdout).toContain(
      'fault    application-credentials: the partner service refused the client ID or the client secret\n' +
        `           Store the right ones: \`advert-bridge application --base-url URL --client-id ID --client-secret-stdin --local ${local.dir}\`\n`,
    );
    expect(stdout).toMatch(/\n1 fault, 1 skipped, \d+ ok\n$/);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 1 });
  });
});

const mebibyte = 1024 ** 2;
it.each<[string, Partial<typeof machineFacts>, string, RegExp]>([
  ['a Node without SQLite', { nodeVersion: '22.12.0' }, 'node fault', /needs Node 22\.13 or later/],
  ['an old Node', { nodeVersion: '20.19.1' }, 'node fault', /needs Node 22\.13 or later/],
  ['an odd Node', { nodeVersion: '25.1.0' }, 'node warning', /fixes for half a year only/],
  ['no fault in the oldest Node', { nodeVersion: '22.13.0' }, 'node ok', /Node 22\.13\.0/],
  ['a full disk', { freeBytes: () => 10 * mebibyte }, 'disk-space fault', /stops when it is full/],
  ['a nearly full disk', { freeBytes: () => 500 * mebibyte }, 'disk-space warning', /500 MiB/],
])('doctor --local finds %s', async (_, machine, expected, says) => {
  const local = await healthy();
  const before = { ...machineFacts };
  onTestFinished(() => void Object.assign(machineFacts, before));
  Object.assign(machineFacts, machine);
  const [name, result] = expected.split(' ');

  const found = resultsIn(await doctor(local)).find((check) => check.name === name);

  expect(found).toMatchObject({ result, says: expect.stringMatching(says) });
  expect(found?.mend === null).toBe(result === 'ok');
});

describe('the state of a bridge that another process', () => {
  const start = childProcesses();
  const holding = (dir: string) => `
    const { openEmbeddedState } = await import(process.cwd() + '/shared/sqlite/state.ts');
    const state = openEmbeddedState(${JSON.stringify(dir)});
    await state.settings.write('a', 'b');
    console.log('open');
    setInterval(() => undefined, 1000);`;

  it('has open is read, and stays as it is to the last byte', async () => {
    const local = await healthy();
    const { line } = await start(holding(local.dir));
    expect(line).toBe('open');

    expect(badIn(resultsIn(await doctor(local)))).toEqual([]);
    expect(readdirSync(local.dir).toSorted()).toEqual(['bridge.db', 'bridge.db-shm', 'bridge.db-wal']);
  });

  it('had open when it was killed is read, and stays as it is to the last byte', async () => {
    const local = await healthy();
    const child = await start(holding(local.dir));
    await child.kill();

    expect(badIn(resultsIn(await doctor(local)))).toEqual([]);
  });
});

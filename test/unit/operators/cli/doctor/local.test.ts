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
import { expect, it, onTestFinished, vi } from 'vitest';
import { takeRunLock } from '../../../../../embedded/state/file/run-lock.ts';
import type { EmbeddedState } from '../../../../../embedded/state/state.ts';
import { machineFacts } from '../../../../../operators/operations/doctor/folder-checks.ts';
import { Secret } from '../../../../../shared/domain/secret.ts';
import { childProcesses } from '../../../../helpers/child-process.ts';
import { holdBridge, serviceHold, stopped } from '../../../../helpers/holds.ts';
import { changedAdvert, deadLetter } from '../../../../helpers/records.ts';
import { type Local, startConnected } from '../local-bridge.ts';
import { cli, newFolder } from '../run-cli.ts';
import { badIn, expectFound, resultsIn, rowsOf } from './results.ts';

/** Every byte of the folder, with names, modes and times. */
function bytesOf(dir: string): unknown {
  if (!existsSync(dir) || !lstatSync(dir).isDirectory()) return undefined;
  return readdirSync(dir).map((name) => {
    const file = path.join(dir, name);
    const { mode, mtimeMs, ino } = lstatSync(file);
    return [name, mode, mtimeMs, ino, createHash('sha256').update(readFileSync(file)).digest('hex')];
  });
}

/** A bridge that a process runs. */
async function startRunning() {
  const local = await startConnected();
  const { release } = takeRunLock(local.dir, 'test');
  return { ...local, stopRun: release };
}
type Running = Awaited<ReturnType<typeof startRunning>>;

async function doctor({ dir, run }: Local) {
  const before = bytesOf(dir);
  const ended = await run('doctor --json');
  expect(bytesOf(dir)).toEqual(before);
  return ended;
}

function sql({ dir }: Local, ...statements: string[]): void {
  const db = new DatabaseSync(path.join(dir, 'bridge.db'));
  for (const statement of statements) db.exec(statement);
  db.close();
}

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

type Plant = (local: Running) => unknown;
const newPair =
  (given: { scope?: string; accessToken?: Secret }): Plant =>
  (local) =>
    local.inState(async ({ vault }) => {
      const { pair } = (await vault.read('main')) ?? expect.fail('connected');
      await vault.write('main', { ...pair, ...given });
    });
const withSql =
  (statement: string): Plant =>
  (local) =>
    sql(local, statement);
const inState =
  (work: (state: EmbeddedState) => Promise<unknown>): Plant =>
  (local) =>
    local.inState(work);
const held = (kind: 'service' | 'circuit') =>
  inState(({ budgetStore }) => holdBridge(budgetStore, serviceHold(kind, Date.now() + 600_000)));
const withAccount =
  (given: object): Plant =>
  (local) =>
    local.inState(async ({ partnerAccounts }) => {
      await partnerAccounts.change('main', (account) => ({ ...account, ...given }));
    });
/** Calls `act` with a file of the folder; empty: the folder itself. */
const file =
  (name: string, act: (path: string) => unknown): Plant =>
  ({ dir }) =>
    act(path.join(dir, name));
const fileForFolder = file('', (dir) => {
  rmSync(dir, { recursive: true });
  writeFileSync(dir, '');
});
const unavailable = { kind: 'status', status: 503, endpoint: 'token' } as const;
const refused = { ...serviceHold('service', Date.now() + 600_000), fault: 'transient' };
async function stopWithChange({ stopRun, inState }: Running): Promise<void> {
  stopRun();
  await inState(async ({ queue, partnerAccounts }) => {
    const { generation } = (await partnerAccounts.read('main')) ?? expect.fail('connected');
    await queue.send([changedAdvert({ generation })]);
  });
}
const begin = /advert-bridge application --base-url URL .*--local/;
const connect = 'advert-bridge connect main --open';
const restore = 'Restore the folder from a backup';

const rows = rowsOf<Plant>({
  'folder fault': [
    ['no bridge', file('', (dir) => rmSync(dir, { recursive: true })), begin],
    ['a file', fileForFolder, '--local'],
  ],
  'owner fault': [
    ['a folder open to others', file('', (dir) => chmodSync(dir, 0o777)), 'chmod go-w'],
    ['another owner', () => vi.spyOn(process, 'geteuid').mockReturnValue(12_345), 'chown -R 12345'],
    [
      'a link',
      file('published.json', (link) => symlinkSync('/dev/null', link)),
      'Put the file itself in its place',
    ],
  ],
  'file-modes fault': [
    ['a readable state', file('bridge.db', (db) => chmodSync(db, 0o644)), /^`chmod 600 .*bridge\.db`/],
  ],
  'state-file fault': [
    ['a damaged page', (local) => damage(local), 'docs/operate/backup.md'],
    ['a damaged page of rows', (local) => damage(local, 'rows'), restore],
    ['no state', file('bridge.db', (db) => writeFileSync(db, 'x'.repeat(8192))), restore],
    ['a newer state', withSql('PRAGMA user_version=99'), 'Use the newer one'],
  ],
  'state-file warning': [
    [
      'a log without its index',
      file('bridge.db-wal', (log) => writeFileSync(log, 'x', { mode: 0o600 })),
      'status',
    ],
  ],
  'application fault': [['no base URL', withSql("DELETE FROM rows WHERE name = 'setting/base-url'"), begin]],
  'application-credentials fault': [
    ['a wrong secret', ({ application }) => application('another-secret'), begin],
    ['no answer', ({ sandbox }) => sandbox.close(), begin],
    ['an answer of 503', ({ sandbox }) => sandbox.control.faults.add(unavailable), 'Try again in a while'],
    [
      'another path',
      ({ application, sandbox }) => application(undefined, `${sandbox.url}/elsewhere`),
      /base-url/,
    ],
  ],
  'clock warning': [['two hours', ({ sandbox }) => sandbox.control.clock.advance(7_200_000), 'timedatectl']],
  'clock fault': [
    [
      'days',
      ({ sandbox }) => sandbox.control.clock.set(Date.now() - 3 * 86_400_000),
      'tell the partner service',
    ],
  ],
  'partner-accounts fault': [['a stopped one', withAccount(stopped('refresh-token-rejected')), connect]],
  'tokens fault': [['no token pair', withSql("DELETE FROM rows WHERE kind = 'tokens'"), connect]],
  'tokens warning': [
    ['too small a scope', newPair({ scope: 'v2 read' }), /connect main --open .*run --required-scope/],
    ['another token pair', newPair({ accessToken: new Secret('another') }), 'advert-bridge run'],
  ],
  'dead-letters warning': [
    ['one', inState(({ deadLetters }) => deadLetters.sendMalformed(deadLetter())), 'redrive --all'],
  ],
  'run warning': [['no process', ({ stopRun }) => stopRun(), 'advert-bridge run --local']],
  'run fault': [['no process, and a change that waits', stopWithChange, 'advert-bridge run --local']],
  'delivery fault': [
    ['one fault for all requests', withAccount({ holds: [refused] }), 'resume main --early'],
  ],
  'pause warning': [['a pause of the service', held('service'), /resume --early --local/]],
  'pause fault': [['an open circuit', held('circuit'), /resume --early --local/]],
});

it('doctor --local finds nothing and changes nothing when all is right', async () => {
  const ended = await doctor(await startRunning());

  expect(new Set(resultsIn(ended).map(({ result }) => result))).toEqual(new Set(['ok']));
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
});

it.each(rows)(
  'doctor --local has the %s when there is %s, and nothing else',
  async (found, _is, plant, mend) => {
    const local = await startRunning();
    await plant(local);

    expectFound(await doctor(local), { found, mend });
  },
);

it('doctor --local asks nothing of a service that wants to be left alone', async () => {
  const local = await startRunning();
  await held('service')(local);
  local.sandbox.control.journal.clear();

  const checks = resultsIn(await doctor(local));

  expect(local.sandbox.control.journal.list()).toEqual([]);
  const skipped = checks.filter(({ result }) => result === 'skipped');
  expect(skipped.map(({ name }) => name)).toEqual(['application-credentials', 'clock']);
});

it('doctor --local uses no token of an account, and requests one token', async () => {
  const local = await startConnected();
  local.sandbox.control.journal.clear();

  await doctor(local);

  expect(local.sandbox.control.journal.list()).toMatchObject([
    { endpoint: 'token', grantType: 'client_credentials' },
  ]);
});

it('doctor --local explains what it found, with the remedy below', async () => {
  const local = await startRunning();
  await local.application('another-secret');

  const { stdout, stderr, exitCode } = await local.run('doctor');

  expect(stdout).toMatch(
    /^fault {4}application-credentials: the service refuses .*\n {11}Store the right ones: `.*`$/m,
  );
  expect(stdout).toMatch(/\n1 fault, 1 skipped, \d+ ok\n$/);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 1 });
});

it('doctor is unsure of a bridge in a folder that cannot be looked into', async () => {
  // As when the user may not enter it, also for root.
  const { stdout } = await cli(`doctor --local ${newFolder()}/${'x'.repeat(300)}`);

  expect(stdout).toMatch(/^fault {4}folder: .* cannot be .*\n {11}Check the permissions of the folder/m);
  expect(stdout).not.toContain('there is no bridge');
});

const mebibyte = 1024 ** 2;
it.each<[string, Partial<typeof machineFacts>, string, RegExp]>([
  ['a Node without SQLite', { nodeVersion: '22.12.0' }, 'node fault', /needs Node 22\.13 or later/],
  ['an old Node', { nodeVersion: '20.19.1' }, 'node fault', /needs Node 22\.13 or later/],
  ['an odd Node', { nodeVersion: '25.1.0' }, 'node warning', /fixes for half a year only/],
  ['no fault in the oldest Node', { nodeVersion: '22.13.0' }, 'node ok', /Node 22\.13\.0/],
  ['a full disk', { freeBytes: () => 10 * mebibyte }, 'disk-space fault', /stands still when it is full/],
  ['a nearly full disk', { freeBytes: () => 500 * mebibyte }, 'disk-space warning', /500 MiB/],
])('doctor --local finds %s', async (_, machine, expected, says) => {
  const local = await startConnected();
  const before = { ...machineFacts };
  onTestFinished(() => void Object.assign(machineFacts, before));
  Object.assign(machineFacts, machine);
  const [name, result] = expected.split(' ');

  const found = resultsIn(await doctor(local)).find((check) => check.name === name);

  expect(found).toMatchObject({ result, says: expect.stringMatching(says) });
  expect(found?.mend === null).toBe(result === 'ok');
});

const start = childProcesses();
const holding = (dir: string) => `
  const { openEmbeddedState } = await import(process.cwd() + '/embedded/state/state.ts');
  const state = openEmbeddedState(${JSON.stringify(dir)});
  await state.settings.write('a', 'b');
  console.log('open');
  setInterval(() => undefined, 1000);`;

it.each([
  ['has open', false],
  ['had open when it was killed', true],
])('doctor leaves every byte of a state that another process %s', async (_, isKilled) => {
  const local = await startConnected();
  const child = await start(holding(local.dir));
  if (isKilled) await child.kill();

  expect(child.line).toBe('open');
  expect(badIn(resultsIn(await doctor(local)))).toEqual(['run warning']);
  expect(readdirSync(local.dir).toSorted()).toEqual([
    'bridge.db',
    'bridge.db-shm',
    'bridge.db-wal',
    'reserved',
  ]);
});

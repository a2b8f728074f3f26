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
import { badIn, type Expected, expectFound, resultsIn } from './results.ts';

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

const planted: (Expected & { readonly plant: (local: Local) => unknown; readonly is: string })[] = [
  {
    is: 'no bridge in the folder',
    plant: ({ dir }) => rmSync(dir, { recursive: true }),
    found: 'folder fault',
    mend: /advert-bridge application --base-url URL .* --local/,
  },
  {
    is: 'a file in place of the folder',
    plant({ dir }) {
      rmSync(dir, { recursive: true });
      writeFileSync(dir, '');
    },
    found: 'folder fault',
    mend: '--local',
  },
  {
    is: 'a folder of another user',
    plant: () => vi.spyOn(process, 'geteuid').mockReturnValue(12_345),
    found: 'owner fault',
    mend: 'chown -R 12345',
  },
  {
    is: 'a state file that is a link',
    plant: ({ dir }) => symlinkSync('/dev/null', path.join(dir, 'run.lock')),
    found: 'owner fault',
    mend: 'Put the file itself in its place',
  },
  {
    is: 'a state file that others may read',
    plant: ({ dir }) => chmodSync(path.join(dir, 'bridge.db'), 0o644),
    found: 'file-modes fault',
    mend: /^`chmod 600 .*bridge\.db`/,
  },
  {
    is: 'a folder that others may write to',
    plant: ({ dir }) => chmodSync(dir, 0o777),
    found: 'file-modes fault',
    mend: /^`chmod 700 /,
  },
  {
    is: 'a damaged page',
    plant: (local) => damage(local),
    found: 'state-file fault',
    mend: 'docs/operate/backup.md',
  },
  {
    is: 'a damaged page of rows that are read',
    plant: (local) => damage(local, 'rows'),
    found: 'state-file fault',
    mend: 'Restore the folder from a backup',
  },
  {
    is: 'a file that is no state',
    plant: ({ dir }) => writeFileSync(path.join(dir, 'bridge.db'), 'x'.repeat(8192)),
    found: 'state-file fault',
    mend: 'Restore the folder from a backup',
  },
  {
    is: 'a state of a newer version',
    plant: (local) => sql(local, 'PRAGMA user_version=99'),
    found: 'state-file fault',
    mend: 'Use the newer one',
  },
  {
    is: 'a log that was copied without its index',
    plant: ({ dir }) => writeFileSync(path.join(dir, 'bridge.db-wal'), 'x', { mode: 0o600 }),
    found: 'state-file warning',
    mend: 'advert-bridge status --local',
  },
  {
    is: 'no base URL',
    plant: (local) => sql(local, "DELETE FROM documents WHERE name = 'setting/base-url'"),
    found: 'application fault',
    mend: 'advert-bridge application --base-url URL',
  },
  {
    is: 'a wrong client secret',
    plant: ({ application }) => application('another-secret'),
    found: 'application-credentials fault',
    mend: 'advert-bridge application --base-url URL',
  },
  {
    is: 'a base URL where no partner service is',
    plant: ({ application, sandbox }) => application(undefined, `${sandbox.url}/elsewhere`),
    found: 'application-credentials fault',
    mend: 'advert-bridge application --base-url URL',
  },
  {
    is: 'a clock that is two hours off',
    plant: ({ sandbox }) => sandbox.control.clock.advance(7_200_000),
    found: 'clock warning',
    mend: 'timedatectl set-ntp true',
  },
  {
    is: 'a clock that is days off',
    plant: ({ sandbox }) => sandbox.control.clock.set(Date.now() - 3 * 86_400_000),
    found: 'clock fault',
    mend: 'tell the partner service',
  },
  {
    is: 'a partner account that is stopped',
    plant: (local) =>
      changeAccount(local, (account) => ({
        ...account,
        ...stopped('refresh-token-rejected'),
      })),
    found: 'partner-accounts fault',
    mend: 'advert-bridge connect main --open',
  },
  {
    is: 'no token pair',
    plant: (local) => sql(local, 'DELETE FROM token_pairs'),
    found: 'tokens fault',
    mend: 'advert-bridge connect main --open',
  },
  {
    is: 'a token of too small a scope',
    plant: (local) =>
      change(local, async ({ vault }) => {
        const { pair } = (await vault.read('main')) ?? expect.fail('connected');
        await vault.write('main', { ...pair, scope: 'v2 read' });
      }),
    found: 'tokens warning',
    mend: /advert-bridge connect main --open .*run --required-scope/,
  },
  {
    is: 'a token pair that the row does not name',
    plant: (local) =>
      change(local, async ({ vault }) => {
        const { pair } = (await vault.read('main')) ?? expect.fail('connected');
        await vault.write('main', { ...pair, accessToken: new Secret('another') });
      }),
    found: 'tokens warning',
    mend: 'advert-bridge run',
  },
  {
    is: 'a dead letter',
    plant: (local) => change(local, ({ deadLetters }) => deadLetters.sendMalformed([deadLetter()])),
    found: 'dead-letters warning',
    mend: 'advert-bridge dead-letters redrive --all',
  },
  {
    is: 'changes that wait while nobody runs the bridge',
    plant: (local) => change(local, ({ queue }) => queue.send([changedAdvert()])),
    found: 'run fault',
    mend: 'advert-bridge run --local',
  },
  {
    is: 'an account whose requests all get the same fault',
    plant: (local) =>
      changeAccount(local, (account) => ({
        ...account,
        holds: [{ ...serviceHold('service', Date.now() + 600_000), fault: 'transient' }],
      })),
    found: 'delivery fault',
    mend: 'docs/operate/runbook.md',
  },
  {
    is: 'a webhook that is gone',
    plant: (local) =>
      change(local, async ({ webhooks, eventLog }) => {
        await eventLog.begin('https://a.example/hook');
        await webhooks.settle('https://a.example/hook', {
          trouble: { since: Date.now(), reason: '410', gone: true },
        });
      }),
    found: 'delivery fault',
    mend: 'advert-bridge webhook URL --forget',
  },
  {
    is: 'a pause that the service asked for',
    plant: (local) =>
      change(local, ({ budgetStore }) =>
        holdBridge(budgetStore, serviceHold('service', Date.now() + 600_000)),
      ),
    found: 'pause warning',
    mend: 'advert-bridge resume --early --local',
  },
  {
    is: 'an open circuit',
    plant: (local) =>
      change(local, ({ budgetStore }) => holdBridge(budgetStore, serviceHold('circuit', Date.now() - 1))),
    found: 'pause fault',
    mend: 'advert-bridge resume --early --local',
  },
];

describe('doctor --local', () => {
  it('finds nothing where all is right, and changes nothing', async () => {
    const ended = await doctor(await healthy());

    expect(new Set(resultsIn(ended).map(({ result }) => result))).toEqual(new Set(['ok']));
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it.each(planted)('finds $is, and nothing else', async ({ plant, ...expected }) => {
    const local = await healthy();
    await plant(local);

    expectFound(await doctor(local), expected);
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
    await change(local, ({ budgetStore }) =>
      holdBridge(budgetStore, serviceHold('service', Date.now() + 600_000)),
    );
    local.sandbox.control.journal.clear();

    const checks = resultsIn(await doctor(local));

    expect(local.sandbox.control.journal.list()).toEqual([]);
    for (const name of ['application-credentials', 'clock']) {
      expect(checks).toContainEqual({
        name,
        result: 'skipped',
        says: 'no request is sent to the service during a pause: see pause',
        mend: null,
      });
    }
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

describe('doctor --local finds', () => {
  const mebibyte = 1024 ** 2;
  it.each<[string, Partial<typeof machineFacts>, 'fault' | 'warning' | 'ok', string, RegExp]>([
    ['a Node without SQLite', { nodeVersion: '22.12.0' }, 'fault', 'node', /needs Node 22\.13 or later/],
    ['an old Node', { nodeVersion: '20.19.1' }, 'fault', 'node', /needs Node 22\.13 or later/],
    ['an odd Node', { nodeVersion: '25.1.0' }, 'warning', 'node', /fixes for half a year only/],
    ['no fault in the oldest Node', { nodeVersion: '22.13.0' }, 'ok', 'node', /Node 22\.13\.0/],
    ['a full disk', { freeBytes: () => 10 * mebibyte }, 'fault', 'disk-space', /stops when it is full/],
    ['a nearly full disk', { freeBytes: () => 500 * mebibyte }, 'warning', 'disk-space', /500 MiB/],
  ])('%s', async (_, machine, result, name, says) => {
    const local = await healthy();
    const before = { ...machineFacts };
    onTestFinished(() => void Object.assign(machineFacts, before));
    Object.assign(machineFacts, machine);

    const found = resultsIn(await doctor(local)).find((check) => check.name === name);

    expect(found).toMatchObject({ result, says: expect.stringMatching(says) });
    expect(found?.mend === null).toBe(result === 'ok');
  });
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

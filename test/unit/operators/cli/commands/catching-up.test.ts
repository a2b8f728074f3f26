import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { takeRunLock } from '../../../../../embedded/state/file/run-lock.ts';
import { eventsIn, startConnected } from '../local-bridge.ts';
import { cli, newFolder } from '../run-cli.ts';

async function startListed(assumptions = {}) {
  const local = await startConnected({ assumptions });
  const runUntilIdle = async () => eventsIn((await local.runUntilIdle()).stdout);
  const books = async () => (await local.status()).partnerAccounts[0].books;
  return { ...local, runUntilIdle, books };
}

const told = (events: readonly { detail: { metadata: { cause: string }; data: object } }[]) =>
  events.map(({ detail }) => ({ cause: detail.metadata.cause, ...detail.data }));

it.each(['backfill main', 'resync main --since 2h'])(
  '%s leads to status instead of a second run',
  async (command) => {
    const { dir, run } = await startListed();
    const before = await run(command);
    const lock = takeRunLock(dir, 'test');
    onTestFinished(() => lock.release());
    const meanwhile = await run(command);

    expect(before.stderr).toContain(`advert-bridge run --local ${dir}`);
    expect(meanwhile.exitCode).toBe(0);
    expect(meanwhile.stderr).not.toContain('advert-bridge run ');
    expect(meanwhile.stderr).toContain(`advert-bridge status main --local ${dir}`);
  },
);

it('a backfill publishes what is new or changed, and the books balance', async () => {
  const { sandbox, run, runUntilIdle, books } = await startListed();
  // Adverts that a user starts with are in the list, and not in the feed.
  const known = sandbox.control.truth().map(({ id }) => id);
  const first = await run('backfill main');
  const events = await runUntilIdle();
  const second = await run('backfill main --json');

  expect(first).toMatchObject({ exitCode: 0, stdout: '' });
  expect(events).toHaveLength(known.length);
  expect(told(events)).toContainEqual({
    cause: 'backfill',
    advertId: known[0],
    status: sandbox.control.truth()[0]?.status,
    previousStatus: null,
  });
  expect(JSON.parse(second.stdout)).toMatchObject({ end: 'done', listed: known.length, malformed: 0 });
  expect(await runUntilIdle()).toEqual([]);
  expect(await books()).toMatchObject({
    listed: 2 * known.length,
    events: known.length,
    unchanged: known.length,
    inFlight: 0,
  });
});

it('a backfill reads a list paged by offset, with shorter pages', async () => {
  const { sandbox, run } = await startListed({
    listPaging: { style: 'offset', positionParameter: 'skip', limitParameter: 'take', maximumLimit: 7 },
  });
  sandbox.control.createAdverts(20);
  const all = sandbox.control.truth().length;

  const { stdout } = await run(
    'backfill main --paging offset --position-parameter skip --limit-parameter take --json',
  );

  expect(JSON.parse(stdout)).toMatchObject({ end: 'done', listed: all });
});

it('a backfill stops on request and goes on later', async () => {
  const { sandbox, run } = await startListed();
  sandbox.control.createAdverts(10);

  const stopped = await run('backfill main', { signal: AbortSignal.abort() });
  const { stdout } = await run('backfill main --json');

  expect(stopped.exitCode).toBe(3);
  expect(stopped.stderr).toContain('Stopped after 0 adverts. To continue: `advert-bridge backfill main');
  expect(JSON.parse(stdout)).toMatchObject({ end: 'done', listed: sandbox.control.truth().length });
});

it('a backfill looks at the adverts of a file, and nothing else', async () => {
  const { sandbox, run, runUntilIdle } = await startListed();
  const [one = '', two = ''] = sandbox.control.truth().map(({ id }) => id);
  const file = path.join(newFolder(), 'ids.txt');
  writeFileSync(file, `${one}\r\n\n${two}\n${one}\n`);

  const ended = await run(`backfill main --ids ${file}`);
  const events = await runUntilIdle();
  const unknown = await run('backfill main --ids - --json', { stdin: '999999999\n' });

  expect(ended.exitCode).toBe(0);
  expect(events.map(({ detail }) => detail.data.advertId).sort()).toEqual([one, two].sort());
  expect(JSON.parse(unknown.stdout)).toMatchObject({ listed: 1 });
  expect(told(await runUntilIdle())).toMatchObject([{ advertId: '999999999', status: null }]);
});

it('a backfill is refused for a wrong file, name or option', async () => {
  const { run } = await startConnected();
  for (const [args, stdin, exitCode, expected] of [
    ['main --ids -', '12\n../x\n', 1, 'Something else is on line 2. Nothing was listed'],
    ['main --ids -', '', 1, 'there is no advert ID in the file'],
    ['main --ids /nowhere', '', 1, 'the file of the IDs (/nowhere) cannot be read (ENOENT)'],
    ['mian', '', 2, 'no such partner account. Known: main'],
    ['main --paging cursor', '', 2, '--paging: expected page, offset or none'],
  ] as const) {
    const ended = await run(`backfill ${args}`, { stdin });
    expect([args, ended]).toMatchObject([args, { exitCode, stdout: '' }]);
    expect(ended.stderr).toContain(expected);
  }
});

it('a resync reads the feed again and publishes only what was missed', async () => {
  const { sandbox, run, runUntilIdle, books } = await startListed();
  const since = new Date(Date.now() - 1000).toISOString();
  const ids = sandbox.control.createAdverts(3, { status: 'new' });
  await runUntilIdle();

  const ended = await run(`resync main --since ${since}`);
  sandbox.control.setStatus(ids[0] as string, 'active');
  const events = await runUntilIdle();

  expect(ended).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('3 adverts are fetched again'),
  });
  expect(told(events)).toEqual([
    { cause: 'resync', advertId: ids[0], status: 'active', previousStatus: 'new' },
  ]);
  // The one of the feed that came after is found unchanged: the cursor went on from where the resync ended.
  expect(await books()).toMatchObject({ listed: 7, events: 4, inFlight: 0 });
});

it('a resync leaves out nothing unread, however late its time', async () => {
  const { sandbox, run, runUntilIdle } = await startListed();
  await runUntilIdle();
  const unread = sandbox.control.createAdverts(2, { status: 'new' });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const since = new Date().toISOString();

  const ended = await run(`resync main --since ${since} --json`);
  const events = await runUntilIdle();

  expect(ended.exitCode).toBe(0);
  const result = JSON.parse(ended.stdout);
  expect(result).toMatchObject({ partnerAccount: 'main', listed: 2, finished: true });
  expect(Date.parse(result.since)).toBeLessThan(Date.parse(since));
  expect(events.map(({ detail }) => detail.data.advertId).sort()).toEqual([...unread].sort());
});

it.each([
  ['main', '--since: expected how long ago'],
  ['main --since 2999-01-01T00:00:00Z', 'expected a time in the past'],
  ['main --since 2', '--since: expected how long ago'],
])('a resync is refused: %s', async (args, expected) => {
  const { exitCode, stderr } = await cli(`resync ${args} --local x`);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(expected);
});

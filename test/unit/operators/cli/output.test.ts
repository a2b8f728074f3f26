import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { startLines } from '../../../../embedded/lines.ts';
import { createTextObserver } from '../../../../embedded/text-observer.ts';
import { lineOutputOf } from '../../../../operators/cli/run/line-output.ts';
import { give, say, show } from '../../../../operators/cli/shared/io.ts';
import { startProgress } from '../../../../operators/cli/shared/progress.ts';
import { systemClock } from '../../../../shared/domain/clock.ts';
import { stopped } from '../../../helpers/holds.ts';
import { changedAdvert, deadLetter } from '../../../helpers/records.ts';
import { startConnected } from './local-bridge.ts';
import { cli } from './run-cli.ts';

/** Whatever a terminal does not show as it is, newlines apart. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/** One of each kind: a C1 control sequence, bidi of every sort, separators, zero width, a variation selector, a tag. */
const hostile =
  'a\u009b31m\u0085\u007f\u001b[2J\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\u200b\u00ad\ufeff\ufe0f\u{e0041}b';

/** Everything written to both outputs. */
function written() {
  const chunks: string[] = [];
  const stream = () =>
    new PassThrough({ decodeStrings: false }).on('data', (chunk) => chunks.push(String(chunk)));
  return { stdout: stream(), stderr: Object.assign(stream(), { isTTY: true }), text: () => chunks.join('') };
}

it.each(['--version', '-v', '-V', 'version'])('%s prints the version and nothing else', async (argument) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

  expect(await cli([argument])).toMatchObject({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
});

it('status --watch keeps its first line when the terminal is too small', async () => {
  const { run } = await startConnected();
  const stopping = new AbortController();
  let screen = '';
  const stdout = new PassThrough({ decodeStrings: false }).on('data', (chunk) => {
    screen += chunk;
    if (screen.endsWith('\n')) stopping.abort();
  });
  Object.assign(stdout, { isTTY: true, rows: 12, columns: 40 });

  await run('status --watch', { stdout, signal: stopping.signal });

  const [first, ...lines] = screen.replace('\u001b[H\u001b[J', '').trimEnd().split('\n');
  expect(first).toMatch(/delivering/i);
  const rows = [first ?? '', ...lines].map((line) => Math.max(1, Math.ceil(line.length / 40)));
  expect(rows.reduce((sum, one) => sum + one)).toBeLessThan(12);
  expect(lines.at(-1)).toMatch(/^… \d+ more lines, without --watch$/);
});

const failing = (code: string) =>
  new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });

it.each(['status', 'status --json', 'snapshot', 'run --until-idle'])(
  'standard output that cannot be written is a fault of %s',
  async (command) => {
    const { sandbox, run, dir } = await startConnected();
    sandbox.control.createAdverts(2);
    if (command === 'snapshot') await run('run --until-idle');
    const args = `${command} --local ${dir}`;

    expect(await cli(args, { stdout: failing('ENOSPC') })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('standard output cannot be written (ENOSPC)'),
    });
  },
);

it.each([
  ['history main 1', 1],
  ['snapshot', 1],
  ['status', 3],
  ['run --until-idle', 0],
])('%s ends with %i, without a word, when its reader has gone', async (command, code) => {
  const { sandbox, run, dir } = await startConnected();
  sandbox.control.createAdverts(2);
  if (command !== 'run --until-idle') await run('run --until-idle');
  // A run that is missing is a finding of status.
  const { exitCode, stderr } = await cli(`${command} --local ${dir}`, { stdout: failing('EPIPE') });

  expect({ exitCode, stderr: stderr.replace(/^Stopped after .*\n/, '') }).toEqual({
    exitCode: code,
    stderr: '',
  });
});

it.each([
  ['a terminal has', { isTTY: true }, {}, 'green'],
  ['a terminal with NO_COLOR has no', { isTTY: true }, { NO_COLOR: '1' }, undefined],
  ['a pipe has no', { isTTY: false }, {}, undefined],
] as const)('a terminal %s colors', (_what, kind, env, color) => {
  vi.stubEnv('FORCE_COLOR', undefined);
  const out = written();
  const getColorDepth = () => ('NO_COLOR' in env ? 1 : 8);
  const ok = { tone: 'green', text: 'ok', rest: '  clock: right' } as const;
  const lines = [{ tone: 'green', text: 'Delivering.' } as const, ok];
  show({ stdout: Object.assign(out.stdout, kind, { getColorDepth }) }, lines);
  const [on, off] = color ? (inspect.colors[color] ?? []) : [];
  const shown = (text: string) => (color ? `\u001b[${on}m${text}\u001b[${off}m` : text);
  expect(out.text()).toBe(`${shown('Delivering.')}\n${shown('ok')}  clock: right\n`);
});

it('no command writes unprintable characters; JSON is the same value', async () => {
  const { sandbox, run, inState } = await startConnected();
  const [id] = sandbox.control.createAdverts(1, { status: hostile });
  const malformed = [
    deadLetter({ advertId: hostile, fault: 'malformed-id', reason: hostile, message: null }),
    deadLetter({ reason: hostile, message: changedAdvert({ key: hostile, correlationId: hostile }) }),
  ];
  await inState(({ deadLetters }) => Promise.all(malformed.map(deadLetters.sendMalformed)));

  const told = async (args: string) => {
    const { stdout, stderr } = await run(args);
    expect(stdout).not.toMatch(unprintable);
    expect(stderr).not.toMatch(unprintable);
    return stdout;
  };
  const lines = [await told('run --until-idle --verbose'), await told('snapshot')];
  for (const line of lines) {
    expect(JSON.parse(line).detail.data).toMatchObject({ advertId: id, status: hostile });
    expect(line).toContain('\\u009b31m');
  }
  const listed = JSON.parse(await told('dead-letters list --json'));
  expect(listed.deadLetters.map(({ reason }: { reason: string }) => reason)).toEqual([hostile, hostile]);
  await told('dead-letters list');
  await told(`dead-letters show ${listed.deadLetters[0].id}`);
  await told(`dead-letters show ${listed.deadLetters[1].id}`);

  const stop = stopped(`${hostile}\nforged: line`);
  await inState(({ partnerAccounts }) =>
    partnerAccounts.change('main', (account) => ({ ...account, ...stop })),
  );
  await told('status --json');
  const status = await told('status');
  expect(status).toContain('\\u009b31m');
  expect(status).not.toMatch(/^forged/m);
  const { stderr } = await run('backfill main');
  expect(stderr).toContain('\\u000aforged: line');
});

it('no writer of a terminal lets unprintable characters through', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 60 }), async (text) => {
      const { stdout, stderr, text: shown } = written();
      say({ stderr }, text);
      give({ stdout }, { [text]: text });
      createTextObserver(stderr, 'info').warn(text, { text, nested: { text }, error: new Error(text) });
      const logged = [{ number: 1, envelope: JSON.stringify({ text }) }];
      const stored = { advance: async () => undefined, note: async () => undefined };
      const log = { ...stored, after: (number: number) => logged.slice(number), readerOf: () => undefined };
      const signal = new AbortController().signal;
      await startLines({
        ...{ output: lineOutputOf(stdout), from: 0, log, clock: systemClock, signal },
        observer: createTextObserver(stderr, 'error'),
      }).stop();

      expect(shown().replaceAll('\t', '')).not.toMatch(unprintable);
      const [given, published] = shown()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .slice(-2);
      expect(JSON.parse(published ?? '')).toEqual({ text });
      expect(JSON.parse(given ?? '')).toEqual({ [text]: text });
    }),
  );
});

it('the progress line has no unprintable characters but its eraser', async () => {
  const { stderr, text } = written();
  const progress = startProgress({ stderr }, async () => hostile);
  await expect.poll(text).toContain('a\\u009b31m');
  progress.stop();

  expect(text().replaceAll('\r\u001b[K', '')).not.toMatch(unprintable);
});

it('no command writes by itself, past the one writer for each kind', () => {
  const writers = ['main.ts', 'event-output.ts', 'io.ts', 'line-output.ts', 'progress.ts'];
  const files = globSync('operators/cli/**/*.ts').filter((file) => !writers.includes(basename(file)));

  const writes = files.filter((file) =>
    /std(?:out|err)\.write|\bconsole\.(?:log|error|warn|info)/.test(readFileSync(file, 'utf8')),
  );

  expect(files.length).toBeGreaterThan(40);
  expect(writes).toEqual([]);
});

import { expect, it, onTestFinished } from 'vitest';
import type { LineOutput } from '../../../embedded/line-writer.ts';
import { startLines } from '../../../embedded/lines.ts';
import { linesReader } from '../../../embedded/state/event-log.ts';
import { openEmbeddedState } from '../../../embedded/state/state.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const eventOf = (number: number) => JSON.stringify({ number, text: '-'.repeat(80) });
const pending = new Promise<never>(() => undefined);
const fails = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

/** Standard output of several runs over one state file, in virtual time. */
function setUp() {
  const clock = createVirtualClock();
  const begun = clock.now();
  const state = openEmbeddedState(folder(), { clock });
  onTestFinished(() => state.close());
  const { eventLog: log } = state;
  const observer = createRecordingObserver();
  const written: string[] = [];
  const take = async (bytes: Buffer) => {
    written.push(String(bytes));
    return bytes.length;
  };
  async function start(more: Partial<LineOutput> = {}) {
    const signal = new AbortController();
    const kind = { unreadBytes: 0, wholeBytes: 4_096, identity: 'pipe', isTorn: false };
    const from = await log.begin(linesReader);
    const output: LineOutput = { write: take, ...kind, ...more };
    return {
      signal,
      lines: startLines({ ...{ output, from, log, clock, observer }, signal: signal.signal }),
    };
  }
  return {
    ...{ state, log, observer, written, take, start },
    run: (seconds: number) => clock.run(begun + seconds * 1_000),
    text: () => written.join(''),
    numbers: () =>
      written.flatMap((line) => [...line.matchAll(/"number":(\d+)/g)].map(([, number]) => Number(number))),
    async append(from: number, to: number) {
      for (let number = from; number <= to; number += 1) await log.append(eventOf(number));
    },
  };
}

const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

it('standard output gets every byte when each write takes only a part', async () => {
  const { start, append, run, text, take, log } = setUp();
  let writes = 0;
  const write = (bytes: Buffer) => {
    writes += 1;
    return take(bytes.subarray(0, Math.max(1, (writes * 37) % bytes.length)));
  };
  const { lines } = await start({ write });
  await append(1, 20);
  await run(10);
  await lines.stop();

  expect(text()).toBe(`${upTo(1, 20).map(eventOf).join('\n')}\n`);
  expect(writes).toBeGreaterThan(20);
  expect(log.position(linesReader)).toBe(20);
});

it('standard output goes on after a full disk, and is a trouble meanwhile', async () => {
  const { start, append, run, text, take, state } = setUp();
  let room = 150;
  const write = (bytes: Buffer) => {
    if (room === 0) return fails('ENOSPC')();
    const part = bytes.subarray(0, room);
    room -= part.length;
    return take(part);
  };
  const { lines } = await start({ write });
  await append(1, 3);
  await run(5);
  expect(state.outputTrouble()).toMatchObject({ reason: 'it cannot be written (ENOSPC)' });

  room = 10_000;
  await run(10);
  expect(state.outputTrouble()).toBeUndefined();
  await lines.stop();
  expect(text()).toBe(`${upTo(1, 3).map(eventOf).join('\n')}\n`);
  expect(lines.unwritten()).toBeUndefined();
});

it('lines are left to the next run when the disk of the output stays full', async () => {
  const { start, append, run, log, numbers } = setUp();
  const { lines } = await start({ write: fails('ENOSPC') });
  await append(1, 3);
  await run(5);
  await lines.stop();

  expect(lines.unwritten()).toBe('it cannot be written (ENOSPC)');
  expect(log.position(linesReader)).toBe(0);
  const again = await start();
  await again.lines.stop();
  expect(numbers()).toEqual([1, 2, 3]);
});

it.each([
  ['its reader has gone', { write: fails('EPIPE') }],
  ['the process is killed', { write: () => pending }],
])('standard output repeats what its reader may have missed after %s', async (_, { write }) => {
  const { start, append, run, numbers, written, take, log } = setUp();
  const unreadBytes = 5 * eventOf(1).length;
  let isOver = false;
  await start({ unreadBytes, write: (bytes) => (isOver ? write() : take(bytes)) });
  await append(1, 40);
  await run(10);
  isOver = true;
  await append(41, 42);
  await run(20);
  expect(log.position(linesReader)).toBe(35);
  written.length = 0;

  const again = await start({ unreadBytes });
  await again.lines.stop();

  expect(numbers()).toEqual(upTo(36, 42));
  expect(log.position(linesReader)).toBe(42);
});

it('standard output repeats nothing after a run that ended well', async () => {
  const { start, append, written } = setUp();
  const first = await start({ unreadBytes: 1_000 });
  await append(1, 40);
  await first.lines.stop();
  written.length = 0;
  const second = await start({ unreadBytes: 1_000 });
  await second.lines.stop();

  expect(written).toEqual([]);
});

it('a line torn by a crash is ended, only in the pipe or file that has it', async () => {
  const { start, append, run, written } = setUp();
  const before = { wholeBytes: 50, write: () => pending };
  await start(before);
  await append(1, 1);
  await run(1);
  const other = await start({ identity: 'another pipe', write: () => pending });
  await run(2);
  expect(written).toEqual([]);
  await start(before);
  await run(3);
  const same = await start();
  await same.lines.stop();
  expect(written).toEqual(['\n', `${eventOf(1)}\n`]);
  written.length = 0;
  const torn = await start({ isTorn: true });
  await torn.lines.stop();
  expect(written).toEqual(['\n']);
  expect(other.lines.unwritten()).toBeUndefined();
});

it('a reader that reads nothing is a trouble after half a minute', async () => {
  const { start, append, run, state, observer, take } = setUp();
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  await start({ write: (bytes) => gate.then(() => take(bytes)) });
  await append(1, 1);
  await run(25);
  expect(state.outputTrouble()).toBeUndefined();
  await run(35);
  expect(state.outputTrouble()).toMatchObject({ reason: 'its reader does not read it' });
  release();
  await run(40);

  expect(state.outputTrouble()).toBeUndefined();
  expect(observer.lines.map(({ level }) => level)).toEqual(['error', 'info']);
});

it.each([
  ['a signal', 11],
  ['the end of the work', 61],
])('a reader that reads nothing is left after %s within %i s', async (what, seconds) => {
  const { start, append, run } = setUp();
  const { lines, signal } = await start({ write: () => pending });
  await append(1, 1);
  if (what === 'a signal') signal.abort();
  let isOver = false;
  void lines.stop().then(() => {
    isOver = true;
  });
  await run(seconds - 3);
  expect(isOver).toBe(false);
  await run(seconds + 1);

  expect(isOver).toBe(true);
  expect(lines.unwritten()).toBe('its reader does not read it');
});

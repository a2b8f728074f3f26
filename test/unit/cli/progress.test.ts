import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startProgress } from '../../../cli/shared/progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function terminal(isTTY: boolean) {
  const stream = Object.assign(new PassThrough({ decodeStrings: false }).setEncoding('utf8'), { isTTY });
  return { stream, written: () => String(stream.read() ?? '') };
}

const erase = '\r\u001B[K';

it('writes its line over and over, and makes room for what else is said', async () => {
  const { stream, written } = terminal(true);
  let events = 0;
  const progress = startProgress({ stderr: stream }, async () => `${++events} events`);

  await vi.advanceTimersByTimeAsync(1000);
  progress.output.write('trouble\n');
  progress.stop();
  await vi.advanceTimersByTimeAsync(1000);

  expect(written()).toBe(`${erase}1 events${erase}2 events${erase}trouble\n`);
});

it('writes nothing where nobody looks', async () => {
  const { stream, written } = terminal(false);
  const progress = startProgress({ stderr: stream }, async () => 'busy');

  await vi.advanceTimersByTimeAsync(5000);
  progress.output.write('trouble\n');
  progress.stop();

  expect(written()).toBe('trouble\n');
});

it('says nothing any more once it is muted', async () => {
  const { stream, written } = terminal(true);
  const progress = startProgress({ stderr: stream }, async () => 'busy');

  progress.stop();
  progress.output.write('trouble\n');
  await vi.advanceTimersByTimeAsync(5000);

  expect(written()).toBe('');
});

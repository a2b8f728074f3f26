import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startProgress } from '../../../../operators/cli/shared/progress.ts';

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

it('progress writes its line over and over and makes room for others', async () => {
  const { stream, written } = terminal(true);
  let events = 0;
  const progress = startProgress({ stderr: stream }, async () => `${++events} events`);

  await vi.advanceTimersByTimeAsync(1000);
  progress.output.write('trouble\n');
  progress.stop();
  await vi.advanceTimersByTimeAsync(1000);

  expect(written()).toBe(`${erase}1 events${erase}2 events${erase}trouble\n`);
});

it.each([
  ['where nobody looks', false],
  ['after it has stopped', true],
])('progress writes nothing %s', async (_, isTTY) => {
  const { stream, written } = terminal(isTTY);
  const progress = startProgress({ stderr: stream }, async () => 'busy');

  if (isTTY) progress.stop();
  await vi.advanceTimersByTimeAsync(5000);
  progress.output.write('trouble\n');

  expect(written()).toBe(isTTY ? '' : 'trouble\n');
});

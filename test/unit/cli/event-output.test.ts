import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { eventOutput } from '../../../cli/shared/event-output.ts';
import type { Io } from '../../../cli/shared/io.ts';

const event = (data: object, cause = 'feed') =>
  `${JSON.stringify({
    'detail-type': 'AdvertStatusChanged',
    time: '2026-11-20T12:00:01Z',
    detail: { metadata: { partnerAccount: 'main', cause }, data: { advertId: '123', ...data } },
  })}\n`;

async function shown(isTTY: boolean, json: boolean, lines: string): Promise<string> {
  const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY });
  const io = { stdout } as unknown as Io;
  await new Promise((done) => eventOutput(io, json).stdout.write(lines, done));
  return stdout.read();
}

const changed = event({ previousStatus: 'new', status: 'active' });

it('writes a line for people for each event on a terminal, without control characters', async () => {
  const removed = event({ previousStatus: 'active', status: null }, 'audit');
  const hostile = event({ previousStatus: null, status: 'a\u001b[2J' });
  const lines = (await shown(true, false, changed + removed + hostile)).split('\n');

  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}main {2}advert 123 {2}new → active$/);
  expect(lines[1]).toMatch(/ {2}active → unavailable {2}\(audit\)$/);
  expect(lines[2]).toContain('none → a\\u001b[2J');
});

it.each([
  ['on a pipe', false, false],
  ['with --json', true, true],
])('writes JSON lines %s', async (_, isTTY, json) => {
  expect(await shown(isTTY, json, changed)).toBe(changed);
});

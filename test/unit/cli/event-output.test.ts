import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { eventOutput } from '../../../cli/shared/event-output.ts';
import type { Io } from '../../../cli/shared/io.ts';

const event = (data: object, cause = 'feed') =>
  JSON.stringify({
    'detail-type': 'AdvertStatusChanged',
    time: '2026-11-20T12:00:01Z',
    detail: { metadata: { partnerAccount: 'main', cause }, data: { advertId: '123', ...data } },
  });

async function shown(isTTY: boolean, json: boolean, lines: string): Promise<string> {
  let text = '';
  const stdout = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        text += chunk;
        done();
      },
    }),
    { isTTY },
  );
  await new Promise((done) => eventOutput({ stdout } as unknown as Io, json).stdout.write(lines, done));
  return text;
}

const changed = `${event({ previousStatus: 'new', status: 'active' })}\n`;

it('is a line for people for each event on a terminal', async () => {
  const removed = `${event({ previousStatus: 'active', status: null }, 'audit')}\n`;
  const lines = (await shown(true, false, changed + removed)).split('\n');
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}main {2}advert 123 {2}new → active$/);
  expect(lines[1]).toMatch(/ {2}active → unavailable {2}\(audit\)$/);
});

it('shows no control characters of the service', async () => {
  const text = await shown(true, false, `${event({ previousStatus: null, status: 'a\u001b[2J' })}\n`);
  expect(text).toContain('none → a\\u001b[2J');
});

it.each([
  ['on a pipe', false, false],
  ['with --json', true, true],
])('is JSON lines %s', async (_, isTTY, json) => {
  expect(await shown(isTTY, json, changed)).toBe(changed);
});

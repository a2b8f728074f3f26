import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { eventOutput } from '../../../../operators/cli/shared/event-output.ts';
import type { Io } from '../../../../operators/cli/shared/io.ts';

const event = (data: object, cause = 'feed') =>
  `${JSON.stringify({
    ...{ 'detail-type': 'AdvertStatusChanged', time: '2026-11-20T12:00:01Z' },
    detail: { metadata: { partnerAccount: 'main', cause }, data: { advertId: '123', ...data } },
  })}\n`;

async function shown(isTTY: boolean, json: boolean, lines: string): Promise<string> {
  const stdout = Object.assign(new PassThrough().setEncoding('utf8'), { isTTY });
  await new Promise((done) => eventOutput({ stdout } as unknown as Io, json).stdout.write(lines, done));
  return String(stdout.read());
}

const changed = event({ previousStatus: 'new', status: 'active' });

it('a terminal shows a line an event, without the service’s controls', async () => {
  const removed = event({ previousStatus: 'active\u001b[2J', status: null }, 'audit');
  const lines = (await shown(true, false, changed + removed)).split('\n');
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}main {2}advert 123 {2}new → active$/);
  expect(lines[1]).toMatch(/ {2}active\\u001b\[2J → unavailable {2}\(audit\)$/);
});

it.each(['\n', '\r', '\u2028', '\u2029', '\u0085', '\u009b', '\u202e'])(
  'the output is one line for an event when a status has the character %j',
  async (char) => {
    const forged = `active${char}12:00:02  main  advert 9  new → sold`;

    const shownForged = await shown(true, false, event({ previousStatus: forged, status: forged }));

    expect(shownForged.split('\n')).toHaveLength(2);
    expect(shownForged.trimEnd()).not.toContain(char);
  },
);

it.each([
  ['on a pipe', false, false],
  ['with --json', true, true],
])('the output is JSON lines %s', async (_, isTTY, json) => {
  expect(await shown(isTTY, json, changed)).toBe(changed);
});

import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { createActions } from '../../../../operators/console/actions.ts';
import type { Action } from '../../../../operators/console/snapshot.ts';

/** In place of the command line: prints its arguments, and ends with the code that the reason names. */
const echo = `console.error(process.argv.slice(1).join(' '));
   process.exit(Number(/exit (\\d)/.exec(process.argv.join(' '))?.[1] ?? 0))`;

function started(script = echo) {
  const log: string[] = [];
  const ended = new EventTarget();
  const latest = new Map<number, Action>();
  let denials: readonly string[] = [];
  const actions = createActions(
    {
      program: [process.execPath, '-e', script, '--'],
      place: ['--local', '/srv/bridge'],
      command: (words) => `npx advert-bridge ${words} --local /srv/bridge`,
      env: {},
      bridge: { clock: { now: () => 0 }, who: async () => 'eva' },
      say: (line) => log.push(line),
    },
    (list, denied) => {
      denials = denied;
      for (const action of list) latest.set(action.id, action);
      if (list.every(({ state }) => state !== 'running')) ended.dispatchEvent(new Event('ended'));
    },
  );
  close = actions.close;
  return { actions, log, latest, ended, denials: () => denials };
}

let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

async function done(given: object) {
  const { actions, log, latest, ended } = started();
  const over = once(ended, 'ended');
  const { id } = await actions.act(given);
  await over;
  return { action: latest.get(id), log };
}
/** A process may take seconds to start where others are at work. */
const loaded = { timeout: 10_000 };
const manyIds = Array.from({ length: 2_500 }, (_, index) => `main/${index}`);

const name = 'main';
it.each([
  [{ action: 'resync', name, since: '2026-11-23T10:00:00Z' }, 'resync main --since=2026-11-23T10:00:00Z'],
  [{ action: 'pause', name, reason: 'why' }, 'pause main --reason=why'],
  [{ action: 'resume', early: true }, 'resume --early'],
  [{ action: 'drop', ids: ['a/1'] }, 'dead-letters drop --yes a/1'],
  [{ action: 'poll' }, 'poll'],
])('an action runs the command that it shows, logged with who did it: %j', async (given, command) => {
  const { action, log } = await done(given);
  const says = `${command} --local /srv/bridge`;
  expect(action).toMatchObject({ state: 'done', command: `npx advert-bridge ${says}`, says });
  expect(log).toEqual([`eva: npx advert-bridge ${says}`]);
});

it.each([
  ['0', 'done'],
  ['1', 'failed'],
  ['2', 'failed'],
  ['3', 'left'],
])('an action that ends by the exit code %s is shown as %s', async (code, state) => {
  const { action } = await done({ action: 'pause', name: 'main', reason: `exit ${code}` });
  expect(action).toMatchObject({ state });
});

it('an action fails when no process can have its arguments', async () => {
  const { action } = await done({ action: 'pause', name: 'main', reason: 'a\0b' });
  expect(action).toMatchObject({ state: 'failed', says: expect.stringContaining('null bytes') });
});

it('an action is one line of the log when its reason has line breaks', async () => {
  const { log } = await done({
    action: 'pause',
    name,
    reason: 'exit 1\neva: advert-bridge poll\u2028: done',
  });
  expect(log).toHaveLength(2);
  for (const line of log) expect(line).not.toMatch(/[\n\u2028]/);
  expect(log[0]).toContain('exit 1\\u000aeva: advert-bridge poll\\u2028: done');
});

it('an action handles more dead letters than fit a command line', async () => {
  const { action } = await done({ action: 'redrive', ids: manyIds });
  expect(action?.state).toBe('done');
  expect(action?.says).toMatch(/^2500 of 2500: dead-letters redrive main\/2000 /);
  expect(action?.command).toBe(
    'npx advert-bridge dead-letters redrive main/0 … (2500 IDs) --local /srv/bridge',
  );
});

it('an action says how far it came when it is interrupted', async () => {
  const { actions, latest } = started(
    `console.error('at work'); if (process.argv.includes('main/1000')) setInterval(() => {}, 1000)`,
  );
  const { id } = await actions.act({ action: 'redrive', ids: manyIds });
  await expect.poll(() => latest.get(id)?.says, loaded).toBe('1000 of 2500: at work');
  await actions.close();
  expect(latest.get(id)).toMatchObject({ state: 'failed', says: expect.stringMatching(/^1000 of 2500: /) });
});

it('an action is known as denied until AWS allows it', async () => {
  const { actions, latest, denials } = started(
    `if (process.argv.includes('--reason=no')) process.send({ code: 'denied' }, () => process.exit(1));`,
  );
  const ended = async (reason: string) => {
    const { id } = await actions.act({ action: 'pause', name: 'main', reason });
    await expect.poll(() => latest.get(id)?.state, loaded).not.toBe('running');
    return denials();
  };
  expect(await ended('no')).toEqual(['pause']);
  expect(await ended('yes')).toEqual([]);
});

it('an action cannot become an option or another command', async () => {
  const { actions } = started();
  const wrong = [
    { action: 'forget', name: 'main' },
    { action: 'poll', name: '--all' },
    { action: 'redrive', ids: ['--all'] },
    { action: 'pause', name: 'main', more: 'x' },
  ];
  for (const given of wrong) await expect(actions.act(given)).rejects.toThrow();
});

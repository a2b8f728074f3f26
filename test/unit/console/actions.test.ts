import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { createActions } from '../../../console/actions.ts';
import type { Action } from '../../../console/snapshot.ts';

/** In place of the command line: prints its arguments, and ends with the code that the reason names. */
const program = [
  process.execPath,
  '-e',
  `console.error(process.argv.slice(1).join(' '));
   process.exit(Number(/exit (\\d)/.exec(process.argv.join(' '))?.[1] ?? 0))`,
  '--',
] as const;

function started() {
  const log: string[] = [];
  const ended = new EventTarget();
  const latest = new Map<number, Action>();
  const actions = createActions({
    program: [program[0], ...program.slice(1)],
    place: ['--local', '/srv/bridge'],
    env: {},
    clock: { now: () => 0 },
    who: async () => 'eva',
    log: (line) => log.push(line),
    onChange: (list) => {
      for (const action of list) latest.set(action.id, action);
      if (list.every(({ state }) => state !== 'running')) ended.dispatchEvent(new Event('ended'));
    },
  });
  return { actions, log, latest, ended };
}

let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

async function done(given: object): Promise<{ action: Action | undefined; log: readonly string[] }> {
  const { actions, log, latest, ended } = started();
  close = actions.close;
  const over = once(ended, 'ended');
  const { id } = await actions.act(given);
  await over;
  return { action: latest.get(id), log };
}

describe('an action of the page', () => {
  it('runs the command that it shows, on the same bridge', async () => {
    const { action } = await done({ action: 'resync', name: 'main', since: '2026-11-23T10:00:00.000Z' });
    expect(action).toMatchObject({
      state: 'done',
      command: 'advert-bridge resync main --since 2026-11-23T10:00:00.000Z',
      says: 'resync main --since 2026-11-23T10:00:00.000Z --local /srv/bridge',
    });
  });

  it('is logged with who did it, when it begins and when it has ended', async () => {
    const { log } = await done({ action: 'poll' });
    expect(log).toEqual([
      'eva: advert-bridge poll',
      'eva: advert-bridge poll: done: poll --local /srv/bridge',
    ]);
  });

  it.each([
    ['0', 'done'],
    ['1', 'failed'],
    ['2', 'failed'],
    ['3', 'left'],
  ])('ends by the exit code %s as %s', async (code, state) => {
    const { action } = await done({ action: 'pause', name: 'main', reason: `exit ${code}` });
    expect(action).toMatchObject({ state });
  });

  it('handles more dead letters than one command line has room for', async () => {
    const ids = Array.from({ length: 2_500 }, (_, index) => `letter${index}`);
    const { action } = await done({ action: 'redrive', ids });
    expect(action?.state).toBe('done');
    expect(action?.says).toContain('letter2499 --local');
    expect(action?.command).toBe('advert-bridge dead-letters redrive letter0 … (2500 IDs)');
  });

  it('cannot become an option or another command', async () => {
    const { actions } = started();
    const wrong = [
      { action: 'forget', name: 'main' },
      { action: 'poll', name: '--all' },
      { action: 'redrive', ids: ['--all'] },
      { action: 'pause', name: 'main', more: 'x' },
    ];
    for (const given of wrong) await expect(actions.act(given)).rejects.toThrow();
  });
});

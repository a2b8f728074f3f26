import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Action, ShownLetters, Snapshot } from '../../../console/snapshot.ts';
import { repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';

export interface Around {
  readonly env: Record<string, string>;
  readonly processes: Processes;
  readonly folder: string;
}

/** A look at a stack takes a dozen calls of the emulator, and an action a process. */
const patienceMs = 60_000;

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(200)) {
    const found = await look();
    if (found) return found;
  }
  return assert.fail(`in ${patienceMs / 1000} s: ${what}`);
}

/** A console of the stack, with what its page asks for. */
export async function startConsole({ env, processes, folder }: Around) {
  const logFile = join(folder, 'console.log');
  const args = [join(repository, 'cli', 'main.ts'), 'console', '--no-open'];
  const started = processes.start({ file: process.execPath, args, env, cwd: repository }, logFile);
  const log = () => readFile(logFile, 'utf8');
  const address = await until(
    'the console prints its address',
    async () => /^http:\S+$/m.exec(await log())?.[0],
  );
  const { origin } = new URL(address);
  const login = await fetch(address, { redirect: 'manual' });
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const headers = { cookie, origin, 'content-type': 'application/json' };

  /** The first snapshot of a new page. */
  async function snapshot(): Promise<Snapshot> {
    const { body } = await fetch(`${origin}/stream`, { headers });
    let text = '';
    for await (const part of body ?? []) {
      text += Buffer.from(part).toString('utf8');
      const [, data] = /^event: snapshot\ndata: (.*)\n\n/m.exec(text) ?? [];
      if (data) return JSON.parse(data);
    }
    return assert.fail('the stream ended without a snapshot');
  }

  return {
    /** The first snapshot for which `holds` is true. */
    until: (what: string, holds: (one: Snapshot) => boolean): Promise<Snapshot> =>
      until(what, async () => {
        const one = await snapshot();
        return holds(one) ? one : undefined;
      }),
    async letters(filter: string): Promise<ShownLetters & { readonly ids: readonly string[] }> {
      const found = await fetch(`${origin}/dead-letters?${new URLSearchParams({ filter })}`, { headers });
      return (await found.json()) as ShownLetters & { readonly ids: readonly string[] };
    },
    /** @returns the action once it has ended */
    async act(action: object): Promise<Action> {
      const body = JSON.stringify(action);
      const accepted = await fetch(`${origin}/actions`, { method: 'POST', headers, body });
      const { id } = (await accepted.json()) as { readonly id: number };
      return until(`${body} has ended`, async () => {
        const { actions } = await snapshot();
        return actions.find((one) => one.id === id && one.state !== 'running');
      });
    },
    async end(): Promise<void> {
      process.kill(started.pid, 'SIGTERM');
      const how = await until('the console has ended', async () => started.exit());
      assert.equal(how, 'it ended with exit code 0');
    },
  };
}

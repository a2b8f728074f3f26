import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type EmbeddedState, openEmbeddedState } from '../../../../embedded/state/state.ts';
import { type SandboxOptions, startSandbox } from '../../../../sandbox/server.ts';
import type { ChangedAdvert, DeadLetter } from '../../../../shared/contract/messages.ts';
import { settlement } from '../../../helpers/records.ts';
import { type CliOptions, cli, newFolder } from './run-cli.ts';

/** A sandbox service and a folder for one test, with the commands that tie them together. */
export async function startLocal(options: SandboxOptions = {}, atEnd = onTestFinished) {
  const sandbox = await startSandbox({ visibilityDelayMs: 0, ...options });
  atEnd(() => sandbox.close());
  const dir = path.join(newFolder(atEnd), 'state');

  const run = (args: string, more: CliOptions = {}) => cli([...args.split(' '), '--local', dir], more);
  const application = (secret = 'sandbox-client-secret', baseUrl = sandbox.url) =>
    run(`application --base-url ${baseUrl} --client-id sandbox-client --client-secret-stdin`, {
      stdin: secret,
    });
  const connect = (name = 'main', token = `sandbox-refresh-token-${name}`, more = '') =>
    run(`connect ${name} --refresh-token-stdin${more}`, { stdin: token });
  const status = async () => JSON.parse((await run('status --json')).stdout);

  const inState = async <R>(work: (state: EmbeddedState) => Promise<R>): Promise<R> => {
    const state = openEmbeddedState(dir);
    return work(state).finally(() => state.close());
  };

  return { sandbox, dir, run, application, connect, status, inState };
}

export type Local = Awaited<ReturnType<typeof startLocal>>;

/** Options of a run that waits for nothing. */
export const quick = '--max-requests-per-second 10000 --confirm-unavailable-seconds 0';

/** A bridge whose partner account `main` is connected. */
export async function startConnected(options: SandboxOptions = {}) {
  const local = await startLocal(options);
  await local.application();
  await local.connect();
  const runUntilIdle = (more = '') => local.run(`run --until-idle ${quick}${more}`);
  return { ...local, runUntilIdle };
}

/** The JSON lines that a command has written. */
export const eventsIn = (stdout: string) =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** Its message is received and given up, so the books count it. */
export async function giveUp({ queue }: EmbeddedState, deadLetter: DeadLetter & { message: ChangedAdvert }) {
  await queue.send([deadLetter.message]);
  const [delivery] = await queue.receive({ maxGroups: 1, maxPerGroup: 1, visibilityMs: 60_000 });
  await queue.settle([settlement(delivery, { kind: 'dead-letter', deadLetter })]);
}

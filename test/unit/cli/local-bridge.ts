import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../sandbox/server.ts';
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

  return { sandbox, dir, run, application, connect, status };
}

export type Local = Awaited<ReturnType<typeof startLocal>>;

import * as v from 'valibot';
import { checkedOptions, wholeOption } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { exitCodes, give, type Io, say } from '../../shared/io.ts';
import { listenError } from '../../shared/listen-error.ts';
import { sandboxText } from './text.ts';

/** Fixed, so that commands that were copied stay right. */
const defaultPort = '4400';

const help = `
It listens on 127.0.0.1 alone, keeps everything in memory and ends with SIGINT or SIGTERM.

Examples:
  advert-bridge sandbox --port 4400
  advert-bridge sandbox --port 0 --adverts 2500 --visibility-delay-ms 0 --json`;

export const addSandbox: AddCommand = (program, io, end) =>
  program
    .command('sandbox')
    .summary('run the sandbox partner service')
    .description(
      'Runs a partner service to try the bridge against: the whole interface, and control over its faults.',
    )
    .option('--port <N>', `where it listens; 0: any free port (default: ${defaultPort})`)
    .option('--adverts <N>', 'adverts that are there from the start (default: 20)')
    .option('--latency-ms <N>', 'how long each answer waits (default: 0)')
    .option('--visibility-delay-ms <N>', 'after how long a change shows in the feed (default: 3000)')
    .option('--access-token-seconds <N>', 'how long an access token lives (default: 86400)')
    .option('--json', 'address, credentials and refresh token as JSON on standard output')
    .addHelpText('after', help)
    .action(async (options: Record<string, unknown>) => {
      await runSandbox(io, options);
      end(exitCodes.done);
    });

const entries = {
  port: v.optional(wholeOption(0, 65_535), defaultPort),
  adverts: v.optional(wholeOption(0, 1_000_000)),
  latencyMs: v.optional(wholeOption(0, 600_000)),
  visibilityDelayMs: v.optional(wholeOption(0, 86_400_000)),
  accessTokenSeconds: v.optional(wholeOption(1, 31_536_000)),
};

async function runSandbox(io: Io, { json, ...given }: Record<string, unknown>): Promise<void> {
  const { accessTokenSeconds, ...options } = checkedOptions(entries, given);
  const { startSandbox } = await import('../../../sandbox/server.ts');
  const stopped = io.untilStopped();
  const sandbox = await startSandbox({
    ...options,
    onFault: (error) => say(io, `sandbox: ${String(error)}`),
    ...(accessTokenSeconds === undefined ? {} : { accessTokenLifetimeSeconds: accessTokenSeconds }),
  }).catch((cause: unknown) => {
    throw listenError(cause, options.port, 'Choose another with --port, or any free one with --port 0');
  });
  if (json) {
    const { url, port, application, users } = sandbox;
    give(io, { url, port, application, users, control: `${url}/_sandbox/` });
  } else say(io, sandboxText(sandbox));
  await new Promise<void>((resolve) => {
    if (stopped.aborted) resolve();
    stopped.addEventListener('abort', () => resolve(), { once: true });
  });
  await sandbox.close();
}

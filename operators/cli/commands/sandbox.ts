import { once } from 'node:events';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, say } from '../shared/io.ts';
import { number } from '../shared/options.ts';
import { localTarget } from '../shared/target.ts';

export const addSandbox = defineCommand(
  {
    help: `run the sandbox partner service
For trying the bridge: the whole interface, and control over its faults. It listens on 127.0.0.1 and keeps
everything in memory.

Examples:
  $0 sandbox --port 0 --adverts 2500 --visibility-delay-ms 0 --json`,
    where: 'none',
    options: {
      // Fixed, so that copied commands remain valid.
      port: number('where it listens; 0: any free port', 0, 65_535, 4400),
      adverts: number('how many adverts exist from the start', 0, 1_000_000, 20),
      visibilityDelayMs: number('how long a change takes to show in the feed', 0, 86_400_000, 3000),
    },
  },
  async ({ io, options, report }) => {
    const { startSandbox } = await import('../../../sandbox/server.ts');
    const stopped = io.untilStopped();
    const sandbox = await startSandbox({
      ...options,
      onFault: (error) => say(io, `sandbox: ${String(error)}`),
    });
    const { url, port, application, users } = sandbox;
    const { command } = localTarget('.advert-bridge');
    const connects = users.map(
      ({ name, refreshToken }) =>
        `  printf %s ${refreshToken} | ${command(`connect ${name} --refresh-token-stdin`)}\n`,
    );
    const delay = Math.ceil(options.visibilityDelayMs / 1000);
    report(
      { url, port, application, users, control: `${url}/_sandbox/` },
      ...`The sandbox partner service listens on ${url} (Ctrl-C ends it)
Its control lists its calls: ${url}/_sandbox/

In another terminal:

  printf %s ${application.clientSecret} | ${command(`application --base-url ${url} \\
    --client-id ${application.clientId} --client-secret-stdin`)}
${connects.join('')}  curl -s -d '{"method":"createAdverts","args":[5]}' ${url}/_sandbox/${delay > 0 ? ` && sleep ${delay}` : ''}
  ${command('run --until-idle')}
  ${command('status')}

To connect as a user, on the consent page in a browser: ${command('connect NAME --open')}`.split('\n'),
    );
    if (!stopped.aborted) await once(stopped, 'abort');
    await sandbox.close();
    return exitCodes.done;
  },
);

import packageJson from '../../../package.json' with { type: 'json' };
import { startConsole } from '../../console/console.ts';
import { openBrowser } from '../authorize/open-browser.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, say } from '../shared/io.ts';
import { flag, number } from '../shared/options.ts';
import { thisProgram } from '../shared/program.ts';

export const addConsole = defineCommand(
  {
    help: `watch and steer the bridge on a page
Until Ctrl-C. Its address, on 127.0.0.1, is the first line on standard output; it works once. What is done on
the page is logged on standard error. More: docs/operate/console.md

Examples:
  $0 console --read-only --no-open --port 8400   (the deployed stack)`,
    options: {
      port: number('the port on 127.0.0.1; 0: any free one', 0, 65_535, 0),
      noOpen: flag('print the address, and do not open it'),
      readOnly: flag('show everything, and refuse to change anything'),
    },
  },
  ({ io, target, options: { port, noOpen, readOnly }, answer }) =>
    withBridge(target, async (bridge) => {
      const signal = io.untilStopped();
      const words = [
        'console',
        ...(port > 0 ? [`--port ${port}`] : []),
        ...(readOnly ? ['--read-only'] : []),
      ];
      const started = await startConsole({
        bridge,
        port,
        isReadOnly: readOnly,
        version: packageJson.version,
        env: io.env,
        program: thisProgram(),
        place: target.kind === 'local' ? ['--local', target.dir] : ['--stack', target.stack],
        command: target.command,
        again: target.command(words.join(' ')),
        say: (text) => say(io, text),
      });
      answer({ url: started.url }, started.url);
      const removePage = noOpen ? undefined : await openBrowser(started.url, io.env);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      await Promise.all([started.close(), removePage?.()]);
      return exitCodes.done;
    }),
);

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** The built-in modules that Node has loaded when the process that runs `code` ends. */
function loadedBy(code: string): string[] {
  const told = execFileSync(
    process.execPath,
    ['--input-type=module', '--eval', `${code}; console.log(JSON.stringify(process.moduleLoadList))`],
    { encoding: 'utf8' },
  );
  return JSON.parse(told);
}

const undiciOfNode = /deps\/undici/;

it('loading an HTTP client can be seen by this test', () => {
  expect(loadedBy("import 'node:http'")).toContainEqual(expect.stringMatching(undiciOfNode));
});

// The drain and the fan-out load the client with every cold start, the command line with every command.
it.each(['shared/partner-api/client.ts', 'operators/cli/cli.ts', 'operators/cli/run/run-bridge.ts'])(
  'loading %s brings no HTTP client beside ours',
  (file) => {
    expect(loadedBy(`import './${file}'`)).not.toContainEqual(expect.stringMatching(undiciOfNode));
  },
);

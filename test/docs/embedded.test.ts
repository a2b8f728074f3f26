import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../helpers/free-port.ts';

const program = join(import.meta.dirname, '../../operators/cli/main.ts');

/** Runs the lines in a shell that knows the command `advert-bridge`, in an empty folder. */
async function pasted(lines: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pasted-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`;
  await writeFile(join(folder, 'advert-bridge'), script, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env.PATH}`, NODE_OPTIONS: process.env.NODE_OPTIONS };

  const { stdout } = await promisify(execFile)('bash', ['-c', `${lines}\ntrue`], { cwd: folder, env });

  return stdout;
}

/** Five processes are started one after the other. */
const timeout = 120_000;
const eventsIn = (stdout: string) => stdout.match(/"detail-type":"AdvertStatusChanged"/g);

it('100 events come from the pasted commands for an embedded bridge', { timeout }, async () => {
  const page = await readFile('docs/operate/deploy.md', 'utf8');
  const [, block = ''] = /```sh\n(advert-bridge sandbox .+?)```/s.exec(page) ?? [];

  expect(eventsIn(await pasted(block.replaceAll('8080', String(await freePort()))))).toHaveLength(100);
});

it('5 events come from the pasted commands that the sandbox prints', { timeout }, async () => {
  const args = [program, 'sandbox', '--port', '0', '--visibility-delay-ms', '1000'];
  const sandbox = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void sandbox.kill());
  let printed = '';
  for await (const text of sandbox.stderr) {
    printed += text;
    if (printed.includes('To connect as a user')) break;
  }
  const commands = printed.split('\n').filter((line) => line.startsWith('  '));

  expect(eventsIn(await pasted(commands.join('\n')))).toHaveLength(5);
});

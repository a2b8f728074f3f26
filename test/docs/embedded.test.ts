import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../helpers/free-port.ts';

const program = join(import.meta.dirname, '../../operators/cli/main.ts');

it('100 events arrive when the commands for an embedded bridge are pasted', async () => {
  const page = await readFile('docs/operate/deploy.md', 'utf8');
  const [, block = ''] = /```sh\n(advert-bridge sandbox .+?)```/s.exec(page) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'pasted-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`;
  await writeFile(join(folder, 'advert-bridge'), script, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env.PATH}`, NODE_OPTIONS: process.env.NODE_OPTIONS };

  const { stdout } = await promisify(execFile)(
    'bash',
    ['-c', block.replaceAll('8080', String(await freePort()))],
    { cwd: folder, env },
  );

  expect(stdout.match(/"detail-type":"AdvertStatusChanged"/g)).toHaveLength(100);
});

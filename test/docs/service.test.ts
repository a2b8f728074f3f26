import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path, { matchesGlob } from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolders } from '../helpers/scratch-folder.ts';

const scratchFolder = scratchFolders();
const page = readFileSync('docs/operate/service.md', 'utf8');
const found = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, text = '']) => text);

it('the container file takes the bridge, not the kit beside it', () => {
  const globs = found(/(advert-bridge-\S*\.tgz)/g);

  expect(globs).toHaveLength(3);
  for (const glob of globs) {
    const tarballs = ['advert-bridge-0.3.0.tgz', 'advert-bridge-kit-0.3.0.tgz'];
    expect(tarballs.filter((name) => matchesGlob(name, glob))).toEqual(['advert-bridge-0.3.0.tgz']);
  }
});

it.each([
  ['0 for a run that answers 200', 200, 0],
  ['1 when the state cannot be read', 503, 1],
  ['1 when nothing listens', undefined, 1],
])('the health check of the container exits with %s', async (_, status, exitCode) => {
  const server = createServer((_request, response) => response.writeHead(status ?? 200).end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  if (status === undefined) server.close();
  const [command = ''] = found(/^HEALTHCHECK CMD (.+)$/gm);

  const check = execFile('sh', ['-c', command.replace(':9464/', `:${port}/`)]);
  const [code] = await once(check, 'exit');
  server.close();

  expect(code).toBe(exitCode);
});

// Where there is no systemd, nobody can judge its unit.
const hasSystemd = spawnSync('systemd-analyze', ['security', '--help']).status === 0;
it.runIf(hasSystemd)('systemd-analyze calls the hardening of the unit OK', () => {
  const unit = path.join(scratchFolder(), 'advert-bridge.service');
  writeFileSync(unit, found(/^```ini\n([\s\S]*?)```/gm).join(''));

  const judgement = execFileSync('systemd-analyze', ['security', '--offline=true', unit]).toString();

  expect(judgement).toMatch(/exposure level for advert-bridge\.service: [\d.]+ OK/);
});

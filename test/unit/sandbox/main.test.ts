import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

it('the sandbox alone prints where it is and stops on SIGTERM', async () => {
  const child = spawn(`${root}node_modules/.bin/node`, ['sandbox/main.ts', '--adverts', '3', '--seed', '1'], {
    cwd: root,
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  const { url, control } = JSON.parse(line) as { url: string; control: string };
  const truth = (await (await fetch(`${control}truth`)).json()) as { adverts: unknown[] };

  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');

  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(truth.adverts).toHaveLength(3);
  expect(code).toBe(0);
});

import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();

/** A copy of what the generator reads. */
function copied(): string {
  const dir = folder();
  for (const part of [
    'package.json',
    'tools',
    'shared/contract',
    'kits/typescript',
    'docs/schemas',
    'docs/asyncapi.json',
    'docs/subscribe/vectors.json',
    'docs/operate/deploy.md',
    'infra/constructs/props',
  ]) {
    cpSync(part, path.join(dir, part), { recursive: true });
  }
  symlinkSync(path.resolve('node_modules'), path.join(dir, 'node_modules'));
  return dir;
}

const released = (dir: string, file: string) => path.join(dir, 'docs/schemas/released', file);

function generate(dir: string, ...options: string[]) {
  const script = path.join(dir, 'tools/contract/generate.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, ...options], {
    cwd: dir,
    encoding: 'utf8',
  });
  return { status, stderr };
}

it('npm run generate finds nothing in the contract as it is', () => {
  expect(generate(copied(), '--check')).toEqual({ status: 0, stderr: '' });
});

it.each([[['--check']], [['--release']]])(
  'generate %j fails when a released field is gone, and releases nothing',
  (options) => {
    const dir = copied();
    const file = released(dir, 'AdvertStatusChanged.schema.json');
    const schema = JSON.parse(readFileSync(file, 'utf8'));
    schema.$defs.AdvertStatusChangedData.properties.price = { type: 'number' };
    writeFileSync(file, JSON.stringify(schema));

    const { status, stderr } = generate(dir, ...options);

    expect(status).toBe(1);
    expect(stderr).toContain('AdvertStatusChanged: detail.data.price: removed');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(schema);
  },
);

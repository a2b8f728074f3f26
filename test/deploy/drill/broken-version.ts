import assert from 'node:assert/strict';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';

/** Files that `cdk deploy` reads, in addition to the packages. */
const deployed = [
  ...['docs', 'functions', 'infra', 'scripts', 'shared'],
  ...['LICENSE', 'cdk.json', 'package.json', 'package-lock.json', 'tsconfig.json'],
];
const handler = 'functions/fan-out/handler.ts';
/** The first line of the handler's body. */
const place = '  const receivedAt = systemClock.now();\n';

/** The error that fan-out throws in {@link brokenVersion}. */
export const brokenVersionsError = 'this version has a fault';

/**
 * Copies these sources and adds a line to fan-out that throws for every batch: a version that should not have been
 * deployed.
 *
 * @returns the folder
 */
export async function brokenVersion(folder: string): Promise<string> {
  await mkdir(folder);
  for (const name of deployed) await cp(join(repository, name), join(folder, name), { recursive: true });
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, handler);
  const source = await readFile(file, 'utf8');
  assert.equal(source.split(place).length, 2, `${handler} has the place for the fault once`);
  const fault = `  if (records.length > 0) throw new TypeError('${brokenVersionsError}');\n`;
  await writeFile(
    file,
    source.replace(place, () => fault + place),
  );
  return folder;
}

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

/** botocore 1.44.8 is the first release that has the model of the Custom Event Bus. */
const requirements = ['botocore==1.44.8', 'cbor2==6.3.0'];
const folder = path.join(import.meta.dirname, '../../.venv/botocore');
const python = path.join(folder, 'bin/python');

/**
 * A Python with botocore, AWS's own client; PyPI is asked in the first run.
 *
 * @returns undefined, and says so, where there is no Python
 */
export function pythonWithBotocore(): string | undefined {
  try {
    execFileSync('python3', ['--version']);
  } catch {
    process.stderr.write('LEFT OUT: it needs Python 3.10 or later (python3), which is not here\n');
    return undefined;
  }
  const freeze = existsSync(python)
    ? execFileSync(python, ['-m', 'pip', 'freeze'], { encoding: 'utf8' })
    : '';
  if (!requirements.every((one) => freeze.split('\n').includes(one))) {
    execFileSync('python3', ['-m', 'venv', '--clear', folder]);
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--no-input', ...requirements]);
  }
  return python;
}

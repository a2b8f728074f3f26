import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figure } from './main.ts';

const mostBytes = 450_000;
const root = fileURLToPath(new URL('..', import.meta.url));

/** The bundles as `cdk synth` makes them. */
export async function bundles(): Promise<Figure[]> {
  const out = mkdtempSync(path.join(tmpdir(), 'advert-bridge-synth-'));
  try {
    const cdk = path.join(root, 'node_modules/aws-cdk/bin/cdk');
    execFileSync(
      process.execPath,
      [cdk, 'synth', '--quiet', '--output', out, '-c', 'partnerBaseUrl=https://partner.example'],
      {
        cwd: root,
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, CDK_DISABLE_CLI_TELEMETRY: 'true' },
      },
    );
    const files = globSync(`${out}/asset.*/index.mjs`);
    if (files.length < 3) throw new Error(`only ${files.length} bundles found in ${out}`);
    const largest = Math.max(...files.map((file) => statSync(file).size));
    return [
      {
        what: `largest of ${files.length} Lambda bundles`,
        value: `${(largest / 1000).toFixed(0)} KB`,
        target: `≤ ${mostBytes / 1000} KB`,
        met: largest <= mostBytes,
      },
    ];
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

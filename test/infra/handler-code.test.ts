import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { expect, it } from 'vitest';
import { AdvertBridge } from '../../infra/cdk.ts';
import { stages, writeHandler } from '../../scripts/bundle-handlers.ts';
import { partnerBaseUrl } from '../helpers/bridges.ts';
import { scratchFolders } from '../helpers/scratch-folder.ts';

const newFolder = scratchFolders();

/** Each file of a folder by its name, as a hash. */
const filesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    globSync(`${folder}/*`)
      .sort()
      .map((file) => [basename(file), createHash('sha256').update(readFileSync(file)).digest('hex')]),
  );

it('the package has the same handlers that a synth in the repository bundles', async () => {
  const folder = newFolder();
  const app = new App({ analyticsReporting: false, outdir: join(folder, 'cdk.out') });
  new AdvertBridge(new Stack(app, 'Shop'), 'Bridge', { partnerBaseUrl, auditSample: 100 });
  const assets = globSync(`${app.synth().directory}/asset.*`).map(filesIn);

  for (const stage of stages) {
    const packed = join(folder, 'package', stage);
    await writeHandler(stage, packed);

    expect(Object.keys(filesIn(packed))).toEqual(['index.mjs', 'index.mjs.LEGAL.txt']);
    expect(assets).toContainEqual(filesIn(packed));
  }
  expect(assets).toHaveLength(stages.length);
}, 120_000);

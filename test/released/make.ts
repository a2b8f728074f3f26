/**
 * Keeps what a release stores and how it is deployed, for all releases after it: `node test/released/make.ts`, in the sources
 * of the release, writes a folder of its version beside this. Nothing in there is ever changed again.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../package.json' with { type: 'json' };
import { stateFileIn } from '../../shared/sqlite/file/state-file.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import type { Kept } from './kept.ts';
import { live } from './life.ts';
import { meaningOf } from './meaning.ts';
import { released } from './releases.ts';
import { fileStore, type Store, stackStore, startAws } from './stores.ts';
import { type ReleasedTemplate, templateNow } from './template.ts';

/** One line for each resource, so that a difference between two releases can be read. */
function textOf({ Resources, Outputs }: ReleasedTemplate): string {
  const lines = Object.entries(Resources).map(
    ([id, resource]) => `  ${JSON.stringify(id)}: ${JSON.stringify(resource)}`,
  );
  return `{"Resources": {\n${lines.join(',\n')}\n},\n"Outputs": ${JSON.stringify(Outputs)}}\n`;
}

const folder = join(released, packageJson.version);
mkdirSync(folder, { recursive: true });
const write = (name: string, kept: Kept): void =>
  writeFileSync(join(folder, name), `${JSON.stringify(kept, null, 1)}\n`);
const lifeIn = async (store: Store, clock: ReturnType<typeof createManualClock>, isReal: boolean) => {
  const lived = await live(store, clock, async (ms) => {
    clock.advance(ms);
    if (isReal) await sleep(ms);
  });
  return { ...lived, meaning: await meaningOf(store) };
};

writeFileSync(join(folder, 'template.json'), textOf(templateNow()));

const aws = await startAws();
const clock = createManualClock();
const stack = await stackStore(aws, clock);
const lived = await lifeIn(stack, clock, true);
write('stack.json', { ...lived, state: await stack.dump() });
await aws.stop();

const dir = mkdtempSync(join(tmpdir(), 'released-'));
const fileClock = createManualClock();
const file = fileStore(dir, fileClock);
write('embedded.json', await lifeIn(file, fileClock, false));
await file.close();
copyFileSync(stateFileIn(dir), join(folder, 'bridge.db'));
rmSync(dir, { recursive: true });

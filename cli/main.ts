#!/usr/bin/env -S node --max-semi-space-size=16 --max-old-space-size=2000
// The heap is kept small, for V8 would let it grow with the load (docs/decisions/0007-embedded-state.md).
import { runCli } from './cli.ts';
import { processIo } from './shared/process-io.ts';

const io = processIo();
void runCli(process.argv.slice(2), io).then((exitCode) => {
  // Not before standard output has what was written to it; at once then, whatever connection is still kept alive.
  process.stdout.write('', () => process.exit(exitCode));
});

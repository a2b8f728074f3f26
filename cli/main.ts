#!/usr/bin/env node
import { runCli } from './cli.ts';
import { processIo } from './process-io.ts';

const io = processIo();
const exitCode = await runCli(process.argv.slice(2), io);
// Not before standard output has what was written to it; at once then, whatever connection is still kept alive.
process.stdout.write('', () => process.exit(exitCode));

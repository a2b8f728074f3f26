import { runCli } from './cli.ts';
import { processIo } from './shared/process-io.ts';
import { nameProgramAsStarted } from './shared/program.ts';

nameProgramAsStarted();
void runCli(process.argv.slice(2), processIo()).then((exitCode) => {
  // Ends when standard output has what was written to it, whatever connection is still kept alive.
  process.stdout.write('', () => process.exit(exitCode));
});

import { runCli } from './cli.ts';
import { processIo } from './shared/process-io.ts';
import { nameProgramAsStarted } from './shared/program.ts';

nameProgramAsStarted();
void runCli(process.argv.slice(2), processIo()).then((exitCode) => {
  // The process ends when standard output has received everything, even if connections are still open.
  process.stdout.write('', () => process.exit(exitCode));
});

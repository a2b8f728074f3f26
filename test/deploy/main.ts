/**
 * The deploy test: MiniStack replaces AWS and the sandbox replaces the partner service. Everything else is real: the
 * CDK command line, the stack, the bundled functions and the bridge's own command line.
 *
 * Needs Python 3.10 or later in addition to Node; leaves only .venv/ministack behind, which the next run uses.
 */
import { optionsOf } from './emulator/options.ts';
import { runSteps } from './emulator/run.ts';
import { journey } from './journey.ts';

const options = optionsOf();
await runSteps('deploy', (run) => journey({ ...run, options }));

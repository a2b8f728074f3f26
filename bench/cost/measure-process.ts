/** Measures in a separate process, and prints the result. Usage: measure-process.ts SETTING-AS-JSON */
import { measure } from './measure.ts';
import { stackFacts } from './stack.ts';

const facts = stackFacts();
const measured = await measure(JSON.parse(process.argv[2] ?? '{}'), facts);
// The result goes to standard output. The functions' output is captured, except while partner accounts are connected.
process.stdout.write(`\n${JSON.stringify({ facts, measured })}\n`);
process.exit(0);

/** The sandbox alone, in a process of its own: `node sandbox/main.ts --port 8080`. Prints one line of JSON, then serves. */
import { parseArgs } from 'node:util';
import { seededRandom } from './random.ts';
import { startSandbox } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    adverts: { type: 'string', default: '20' },
    seed: { type: 'string' },
    user: { type: 'string', multiple: true, default: ['main'] },
    'visibility-delay-ms': { type: 'string', default: '3000' },
    'latency-ms': { type: 'string', default: '0' },
    'journal-limit': { type: 'string', default: '100000' },
  },
});

const sandbox = await startSandbox({
  port: Number(values.port),
  adverts: Number(values.adverts),
  users: values.user.map((name) => ({ name })),
  visibilityDelayMs: Number(values['visibility-delay-ms']),
  latencyMs: Number(values['latency-ms']),
  journalLimit: Number(values['journal-limit']),
  ...(values.seed === undefined ? {} : { random: seededRandom(Number(values.seed)) }),
});
const { url, port, application, users } = sandbox;
process.stdout.write(`${JSON.stringify({ url, port, application, users, control: `${url}/_sandbox/` })}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void sandbox.close());

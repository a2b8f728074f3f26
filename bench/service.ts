import { startSandbox } from '../sandbox/server.ts';

const sandbox = await startSandbox({
  users: [{ name: 'main', adverts: 0 }],
  visibilityDelayMs: 0,
  latencyMs: Number(process.argv[2] ?? 0),
  journalLimit: Number(process.argv[3] ?? 1000),
});
process.stdout.write(`${sandbox.url}\n`);

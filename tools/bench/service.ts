/**
 * The sandbox for a bench, which counts connections. It first sends its address, and then the number of connections
 * in reply to each message.
 *
 * Usage: service.ts OPTIONS (JSON of SandboxOptions)
 */
import { subscribe } from 'node:diagnostics_channel';
import { startSandbox } from '../../sandbox/server.ts';

let connections = 0;
subscribe('net.server.socket', () => {
  connections += 1;
});
process.on('message', () => process.send?.({ connections }));
const sandbox = await startSandbox({
  users: [{ name: 'main', adverts: 0 }],
  visibilityDelayMs: 0,
  journalLimit: 1_000,
  ...JSON.parse(process.argv[2] ?? '{}'),
});
process.send?.({ url: sandbox.url });

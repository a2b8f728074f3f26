import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startMiniStack } from '../../deploy/emulator/ministack.ts';
import { Processes } from '../../deploy/emulator/processes.ts';
import { freePort } from '../../helpers/free-port.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();

/** A program that uses its port like MiniStack: it listens and answers, or ends with Python's error. */
const emulator = `#!${process.execPath}
require('node:http')
  .createServer((request, response) => response.end())
  .on('error', () => {
    console.error('OSError: [Errno 98] Address already in use');
    process.exit(1);
  })
  .listen(process.env.GATEWAY_PORT, '127.0.0.1');
`;

function make(text: string) {
  const dir = folder();
  const program = path.join(dir, 'emulator');
  writeFileSync(program, text);
  chmodSync(program, 0o700);
  const processes = new Processes();
  onTestFinished(() => processes.stopAll());
  return (ports: number[]) =>
    startMiniStack(program, dir, process.env.PATH ?? '', processes, async () => ports.shift() ?? 0);
}

/** A port on which another program listens, which does not answer the emulator's health check. */
async function takenPort(): Promise<number> {
  const server = createServer((_request, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

describe('the start of the emulator', () => {
  it('takes another port when the first was taken after it had been looked at', async () => {
    const start = make(emulator);
    const free = await freePort();

    const { endpoint } = await start([await takenPort(), free]);

    expect(endpoint).toBe(`http://127.0.0.1:${free}`);
    expect((await fetch(endpoint)).ok).toBe(true);
  });

  it('fails with the end of its log when it ends for another reason', async () => {
    const start = make('#!/bin/sh\necho no such module >&2\nexit 3\n');

    await expect(start([await freePort(), 0])).rejects.toThrow(
      /did not start: it ended with exit code 3\nno such module/,
    );
  });
});

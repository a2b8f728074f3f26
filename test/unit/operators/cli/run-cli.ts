import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { runCli } from '../../../../operators/cli/cli.ts';
import type { Io } from '../../../../operators/cli/shared/io.ts';

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  /** Standard input, whole. Default: empty. */
  readonly stdin?: string;
  /** Instead: standard input that comes by and by. */
  readonly input?: Readable;
  readonly isTTY?: boolean;
  /** Both outputs are one terminal. Default false. */
  readonly onTerminal?: boolean;
  readonly env?: Record<string, string>;
  readonly signal?: AbortSignal;
  /** Standard output, where the test has its own. */
  readonly stdout?: Writable;
  /** Told of everything that is written to either output. */
  readonly onOutput?: (text: string) => void;
}

/** Runs a command in this process, as one argument list or as words separated by spaces. */
export async function cli(args: string | readonly string[], options: CliOptions = {}): Promise<Ended> {
  const { stdin = '', isTTY = false, env = {}, onOutput = () => undefined } = options;
  const signal = options.signal ?? new AbortController().signal;
  const written = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof written) =>
    Object.assign(
      new PassThrough({ decodeStrings: false }).setEncoding('utf8').on('data', (text: string) => {
        written[name] += text;
        onOutput(text);
      }),
      { isTTY: options.onTerminal ?? false },
    );
  const io: Io = {
    stdin: Object.assign(options.input ?? Readable.from(stdin === '' ? [] : [stdin]), { isTTY }),
    stdout: options.stdout ?? sink('stdout'),
    stderr: sink('stderr'),
    env,
    untilStopped: () => signal,
  };
  const exitCode = await runCli(typeof args === 'string' ? args.split(' ') : args, io);
  await new Promise(setImmediate);
  return { exitCode, ...written };
}

/** A folder of its own for one test. @param atEnd the test's own `onTestFinished`, where tests run side by side */
export function newFolder(atEnd = onTestFinished): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'cli-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A request whose Host and method are free, which `fetch` does not allow. */
export function rawStatus(url: string, { host, method = 'GET' }: { host?: string; method?: string } = {}) {
  return new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { host };
    httpRequest(url, { method, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

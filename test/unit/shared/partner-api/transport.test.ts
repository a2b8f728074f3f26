import { once } from 'node:events';
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { createTransport, NoAnswerError, type Transport } from '../../../../shared/partner-api/transport.ts';
import {
  cutOff,
  hang,
  reset,
  type Scripted,
  type ScriptedService,
  startScriptedService,
} from '../../../helpers/partner-api/scripted-service.ts';

let service: ScriptedService;
let transport: Transport;
const get = (path = '/x') => ({ method: 'GET', path, headers: ['Host', 'partner'] }) as const;
const noAnswer = async (promise: Promise<unknown>): Promise<NoAnswerError> => {
  const error = await promise.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(NoAnswerError);
  return error as NoAnswerError;
};

beforeEach(async () => {
  service = await startScriptedService();
  transport = createTransport({ origin: new URL(service.url), concurrency: 3, maxAnswerBytes: 10_000 });
});
afterEach(async () => {
  transport.close();
  await service.close();
});

it('the transport opens as many sockets as it may use and keeps them', async () => {
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(Array.from({ length: 6 }, () => transport.send(get(), 1_000)));
  }

  expect(service.seen).toHaveLength(30);
  expect(service.connectionCount()).toBe(3);
});

it('a socket is kept after an error answer, whose body is read to the end', async () => {
  service.next({ status: 500, body: 'x'.repeat(10_000) });

  const answer = await transport.send(get(), 1_000);
  await transport.send(get(), 1_000);

  expect(answer).toMatchObject({ status: 500, body: 'x'.repeat(10_000) });
  expect(service.connectionCount()).toBe(1);
});

it('an answer that came while the process stood still is taken late', async () => {
  const flags = new Int32Array(new SharedArrayBuffer(8));
  // In a thread of its own, because this one stands still.
  const server = new Worker(
    `const { parentPort, workerData: flags } = require('node:worker_threads');
       require('node:http').createServer((request, response) => {
         parentPort.postMessage('asked');
         Atomics.wait(flags, 0, 0);
         response.end('the only one');
       }).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });`,
    { eval: true, workerData: flags },
  );
  onTestFinished(async () => void (await server.terminate()));
  const [port] = await once(server, 'message');
  const origin = new URL(`http://127.0.0.1:${port}`);
  const own = createTransport({ origin, concurrency: 1, maxAnswerBytes: 10_000 });
  onTestFinished(() => own.close());

  const sent = own.send(get(), 300);
  await once(server, 'message');
  Atomics.store(flags, 0, 1);
  Atomics.notify(flags, 0);
  // Nobody wakes it: it stands still for longer than its time limit.
  Atomics.wait(flags, 1, 0, 400);

  expect((await sent).body).toBe('the only one');
});

it('an answer in pieces is read, even with a character cut in two', async () => {
  service.next((_request, response) => {
    const bytes = Buffer.from('{"a":"ż"}');
    response.write(bytes.subarray(0, 7));
    setImmediate(() => response.end(bytes.subarray(7)));
  });

  expect((await transport.send(get(), 1_000)).body).toBe('{"a":"ż"}');
});

it('an answer beyond the limit is not read, and its socket is given up', async () => {
  service.next({ status: 200, body: 'x'.repeat(10_001) });

  const answer = await transport.send(get(), 1_000);
  await transport.send(get(), 1_000);

  expect(answer).toMatchObject({ status: 200, body: undefined });
  expect(service.connectionCount()).toBe(2);
});

it.each<[string, Scripted]>([
  ['there is no answer in time', hang],
  ['the answer begins in time but does not end', (_request, response) => void response.write('{"data":')],
])('the transport gives up when %s', async (_when, answer) => {
  service.next(answer);

  expect(await noAnswer(transport.send(get(), 30))).toMatchObject({ code: 'timeout' });
});

it('a reset, a cut-off answer and a refused connection are told apart', async () => {
  service.next(reset, cutOff);
  const closed = createTransport({
    origin: new URL('http://127.0.0.1:1'),
    concurrency: 1,
    maxAnswerBytes: 9,
  });

  expect(await noAnswer(transport.send(get(), 1_000))).toMatchObject({ code: 'reset', wasStale: false });
  expect(await noAnswer(transport.send(get(), 1_000))).toMatchObject({ code: 'cut-off' });
  expect(await noAnswer(closed.send(get(), 1_000))).toMatchObject({ code: 'not-connected' });
});

it('an error says when the service closed a socket that served before', async () => {
  await transport.send(get(), 1_000);
  service.next(reset);

  expect(await noAnswer(transport.send(get(), 1_000))).toMatchObject({ code: 'reset', wasStale: true });
});

it('a POST has a connection of its own', async () => {
  await transport.send(get(), 1_000);
  await transport.send(
    { method: 'POST', path: '/t', headers: ['Host', 'p', 'Content-Length', '2'], body: '{}' },
    1_000,
  );

  const post = service.seen[1];
  expect(post).toMatchObject({ method: 'POST', body: '{}', connection: 2 });
  expect(post?.headers.connection).toBe('close');
});

it('what is not HTTP is no answer, and its bytes are not in the error', async () => {
  const odd = createServer((socket) => socket.resume().end('secret-token-in-garbage\r\n\r\n'));
  await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
  const { port } = odd.address() as { port: number };
  const other = createTransport({
    origin: new URL(`http://127.0.0.1:${port}`),
    concurrency: 1,
    maxAnswerBytes: 9,
  });

  const error = await noAnswer(other.send(get(), 1_000));

  expect(error.code).toBe('not-http');
  expect(error.cause).toBeUndefined();
  await new Promise((resolve) => odd.close(resolve));
});

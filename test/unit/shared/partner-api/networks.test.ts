import dns from 'node:dns';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { sendToWebhook } from '../../../../embedded/webhooks/request.ts';
import { dynamoDbClient } from '../../../../shared/aws/clients.ts';
import { createTransport } from '../../../../shared/partner-api/transport.ts';
import { expiredIdentity, goodIdentity, otherIdentity } from '../../../helpers/partner-api/certificates.ts';
import { startProxy, startTlsServer, trustAuthority } from '../../../helpers/partner-api/proxy.ts';
import { startWebhook } from '../../../helpers/webhook-server.ts';

const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
beforeEach(() => {
  for (const name of names) vi.stubEnv(name, undefined);
});

/** @returns what came, or the message of what went wrong and its code */
async function answerOf(origin: string, method: 'GET' | 'POST' = 'GET'): Promise<string | undefined> {
  const transport = createTransport({ origin: new URL(origin), concurrency: 2, maxAnswerBytes: 30_000 });
  const wire = {
    method,
    path: '/x',
    headers: ['Host', new URL(origin).host],
    ...(method === 'POST' && { body: '' }),
  };
  try {
    return (await transport.send(wire, 10_000)).body;
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string } };
    return `${message} (${cause?.code})`;
  } finally {
    transport.close();
  }
}
const event = { headers: {}, body: '{}', nowMs: 0 };

it.each([
  ['HTTPS_PROXY', 443],
  ['https_proxy', 8443],
])('uses the proxy when %s names one', async (name, port) => {
  trustAuthority();
  const proxy = await startProxy(await startTlsServer((_request, response) => response.end('here')));
  vi.stubEnv(name, proxy.url);

  const origin = `https://partner.test:${port}`;

  expect(await answerOf(origin)).toBe('here');
  expect(await answerOf(origin, 'POST')).toBe('here');
  expect(await sendToWebhook({ ...event, url: `${origin}/adverts` })).toBeUndefined();
  expect(proxy.asked).toEqual(Array(3).fill(`CONNECT partner.test:${port}`));
});

it('uses the proxy when its address has no scheme', async () => {
  trustAuthority();
  const proxy = await startProxy(await startTlsServer((_request, response) => response.end('here')));
  vi.stubEnv('HTTPS_PROXY', proxy.url.replace('http://', ''));

  expect(await answerOf('https://partner.test')).toBe('here');
  expect(proxy.asked).toEqual(['CONNECT partner.test:443']);
});

it.each(['NO_PROXY', 'no_proxy'])('uses no proxy when %s names the host', async (name) => {
  trustAuthority();
  const port = await startTlsServer((_request, response) => response.end('here'));
  const proxy = await startProxy(port);
  vi.stubEnv('HTTPS_PROXY', proxy.url);
  vi.stubEnv(name, 'example.com,localhost');

  expect(await answerOf(`https://localhost:${port}`)).toBe('here');
  expect(await sendToWebhook({ ...event, url: `https://localhost:${port}/` })).toBeUndefined();
  expect(proxy.asked).toEqual([]);
});

it('uses the proxy for AWS when HTTPS_PROXY names one', async () => {
  trustAuthority();
  const tables = JSON.stringify({ TableNames: ['adverts'] });
  const proxy = await startProxy(await startTlsServer((_request, response) => response.end(tables)));
  vi.stubEnv('HTTPS_PROXY', proxy.url);
  vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', 'https://partner.test');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  const client = dynamoDbClient();

  expect((await client.send(new ListTablesCommand())).TableNames).toEqual(['adverts']);
  expect(proxy.asked).toEqual(['CONNECT partner.test:443']);
  client.destroy();
});

it('uses HTTP_PROXY for a plain address, but never for one of this machine', async () => {
  const webhook = await startWebhook();
  const proxy = await startProxy(Number(new URL(webhook.url).port));
  vi.stubEnv('HTTP_PROXY', proxy.url);

  expect(await sendToWebhook({ ...event, url: 'http://subscriber.test/adverts' })).toBeUndefined();
  expect(await sendToWebhook({ ...event, url: webhook.url })).toBeUndefined();
  expect(proxy.asked).toEqual(['POST http://subscriber.test/adverts']);
  expect(webhook.calls).toHaveLength(2);
});

/** Every name has these addresses. */
function stubAddresses(...addresses: readonly string[]) {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const lookUp = (_name: string, _options: unknown, done: (...found: unknown[]) => void) => done(null, found);
  return vi.spyOn(dns, 'lookup').mockImplementation(lookUp as (typeof dns)['lookup']);
}

it('a webhook moves with its name within a minute, though connections live', async () => {
  const webhook = await startWebhook();
  const lookUp = stubAddresses('127.0.0.1');
  const lookUps: number[] = [];
  for (const seconds of [0, 59, 61, 62]) {
    const url = `http://moving.test:${new URL(webhook.url).port}/`;
    expect(await sendToWebhook({ ...event, url, nowMs: seconds * 1000 })).toBeUndefined();
    lookUps.push(lookUp.mock.calls.length);
  }

  expect(lookUps).toEqual([1, 1, 2, 2]);
});

it.runIf(process.platform === 'linux')('connects when the first of two addresses answers late', async () => {
  const isAwake = new Int32Array(new SharedArrayBuffer(4));
  const server = new Worker(
    `const { parentPort, workerData: isAwake } = require('node:worker_threads');
       const server = require('node:http').createServer((request, response) => response.end('here'));
       server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
         parentPort.postMessage(server.address().port);
         Atomics.wait(isAwake, 0, 0);
       });`,
    { eval: true, workerData: isAwake },
  );
  onTestFinished(async () => void (await server.terminate()));
  const [port] = await once(server, 'message');
  // While its thread stands still, two connections fill its backlog. Linux drops the next, and asks again after a second.
  for (let opened = 0; opened < 2; opened += 1) await once(connect(port, '127.0.0.1'), 'connect');
  stubAddresses('127.0.0.1', '::1');

  const answer = answerOf(`http://partner.test:${port}`);
  setTimeout(() => {
    Atomics.store(isAwake, 0, 1);
    Atomics.notify(isAwake, 0);
  });

  expect(await answer).toBe('here');
});

it.each([[['127.0.0.1']], [['fe80::1', '::1']]])(
  'says that there is no connection when nothing can be reached at %j',
  async (addresses) => {
    stubAddresses(...addresses);

    expect(await answerOf('http://partner.test:1')).toMatch(/^no connection \(E/);
  },
);

it('names the proxy, without its password, when the proxy refuses', async () => {
  const proxy = await startProxy(0, true);
  vi.stubEnv('HTTPS_PROXY', proxy.url);

  const said = await answerOf('https://partner.test');

  expect(said).toMatch(/^the proxy that HTTPS_PROXY or HTTP_PROXY names made no connection \(ERR_PROXY_/);
  expect(said).not.toContain('hidden');
});

it.each([
  ['expired', expiredIdentity, /^the certificate has expired .* \(CERT_HAS_EXPIRED\)$/],
  [
    'of another host',
    otherIdentity,
    /^the certificate is for another host name \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
  ],
])('names the fault when the certificate is %s', async (_what, identity, said) => {
  trustAuthority();
  const port = await startTlsServer((_request, response) => response.end('here'), identity);

  expect(await answerOf(`https://localhost:${port}`)).toMatch(said);
  const webhook = await sendToWebhook({ ...event, url: `https://localhost:${port}/` });
  expect(webhook?.reason).toMatch(/^it cannot be reached: the certificate /);
});

it('an error names NODE_EXTRA_CA_CERTS when the authority is unknown', async () => {
  const port = await startTlsServer((_request, response) => response.end('here'), goodIdentity);

  expect(await answerOf(`https://localhost:${port}`)).toMatch(
    /unknown authority; .* NODE_EXTRA_CA_CERTS \(UNABLE_/,
  );
});

it('sends nothing when NODE_TLS_REJECT_UNAUTHORIZED switches the check off', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  let requests = 0;
  const port = await startTlsServer((_request, response) => {
    requests += 1;
    response.end();
  });

  await expect(answerOf(`https://localhost:${port}`)).rejects.toThrow(
    /^NODE_TLS_REJECT_UNAUTHORIZED=0 .* Unset it/,
  );
  const webhook = await sendToWebhook({ ...event, url: `https://localhost:${port}/again` });
  expect(webhook?.reason).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0');
  expect(requests).toBe(0);
});

it.each([
  ['gzip', gzipSync('here'), 'here'],
  ['br', brotliCompressSync('here'), 'here'],
  ['gzip', gzipSync('x'.repeat(40_000)), undefined],
  ['gzip', Buffer.from('here'), /^the answer has a content coding .* cannot be read/],
  ['zstd', Buffer.from('here'), /^the answer has a content coding .* cannot be read/],
])('reads an answer, or says why not, when its coding is %s', async (coding, body, said) => {
  trustAuthority();
  const port = await startTlsServer((_request, response) => {
    response.setHeader('content-encoding', coding).end(body);
  });

  const answer = await answerOf(`https://localhost:${port}`);

  if (said instanceof RegExp) expect(answer).toMatch(said);
  else expect(answer).toBe(said);
});

it('names the headers when they are longer than 16 KB', async () => {
  trustAuthority();
  const port = await startTlsServer((_request, response) => {
    response.setHeader('x-long', 'x'.repeat(20_000)).end();
  });

  expect(await answerOf(`https://localhost:${port}`)).toMatch(
    /^the headers of the answer are longer than 16 KB/,
  );
});

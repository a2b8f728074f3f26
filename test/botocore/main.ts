/**
 * `npm run test:botocore`: compares the calls of our client of the Custom Event Bus with those of botocore, AWS's own
 * client for Python, for a table of events. Needs Python 3.10 or later, and PyPI for the first run.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { customEventBus, customEventBusClient } from '../../shared/aws/custom-event-bus.ts';
import { anEnvelope } from '../helpers/aws/fixtures.ts';

/** The first release that has the model of the service. */
const requirements = ['botocore==1.44.8', 'cbor2==6.3.0'];
const folder = '.venv/botocore';
const arn = `arn:aws:events:eu-west-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;

const withStatus = (status: string) => anEnvelope('7', 1).replace('"active"', JSON.stringify(status));
const atTime = (time: string) => anEnvelope('7', 1).replace('2026-11-20T12:00:00.123Z', time);

const table: Readonly<Record<string, readonly string[]>> = {
  'one event': [anEnvelope('7', 1)],
  'fifty events': Array.from({ length: 50 }, (_, index) => anEnvelope(String(index), 1)),
  'letters beyond ASCII': [withStatus('zażółć 漢字 🏠')],
  'quotes and line breaks': [withStatus('a "b" \\ \n\u2028')],
  'a whole second': [atTime('2026-11-20T12:00:00.000Z')],
  'a millisecond that no double holds': [atTime('2026-11-20T12:00:00.001Z')],
  'a time beyond 2038': [atTime('2040-01-01T00:00:00.999Z')],
  'an advert with twenty digits': [anEnvelope('9'.repeat(20), 4_294_967_296)],
  'a group of more than 128 characters': [
    anEnvelope()
      .replaceAll('main', 'm'.repeat(64))
      .replace('advert-bridge/', `${'b'.repeat(64)}/`),
  ],
  'a long text': [withStatus('x'.repeat(8_000))],
};

interface Call {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Makes the calls, each against a server that refuses it. */
async function recorded(): Promise<string[]> {
  let call: Call | undefined;
  const server = createServer(async (request, response) => {
    const { method, url: path, headers } = request;
    call = { method, path, headers, body: (await buffer(request)).toString('base64') };
    response.writeHead(400).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = customEventBusClient({
    ...{ region: 'eu-west-1', endpoint: `http://127.0.0.1:${port}`, maxAttempts: 1 },
    credentials: { accessKeyId: 'AKIA', secretAccessKey: 'secret' },
  });
  const bus = customEventBus(client, arn);
  const lines: string[] = [];
  for (const [name, envelopes] of Object.entries(table)) {
    const entries = envelopes.map(bus.entryOf);
    await bus.put(entries).catch(() => undefined);
    lines.push(JSON.stringify({ name, input: { EventBusArn: arn, Entries: entries }, ...call }));
  }
  server.close();
  server.closeAllConnections();
  return lines;
}

const python = `${folder}/bin/python`;
const freeze = existsSync(python) ? execFileSync(python, ['-m', 'pip', 'freeze'], { encoding: 'utf8' }) : '';
if (!requirements.every((one) => freeze.split('\n').includes(one))) {
  execFileSync('python3', ['-m', 'venv', '--clear', folder], { stdio: 'inherit' });
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--no-input', ...requirements], {
    stdio: 'inherit',
  });
}
const input = (await recorded()).join('\n');
const { status } = spawnSync(python, [`${import.meta.dirname}/compare.py`], {
  input,
  stdio: ['pipe', 'inherit', 'inherit'],
});
process.exitCode = status ?? 1;

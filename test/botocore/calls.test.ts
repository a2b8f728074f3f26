/** Compares the calls of our client of the Custom Event Bus with those of botocore, AWS's own client for Python. */
import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  customEventBus,
  customEventBusClient,
  describeCustomBus,
  listSubscribers,
  policyOfCustomBus,
} from '../../shared/aws/custom-event-bus.ts';
import { anEnvelope } from '../helpers/aws/fixtures.ts';
import { pythonWithBotocore } from './python.ts';

const python = pythonWithBotocore();
const arn = `arn:aws:events:eu-west-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;

const withStatus = (status: string) => anEnvelope('7', 1).replace('"active"', JSON.stringify(status));
const atTime = (time: string) => anEnvelope('7', 1).replace('2026-11-20T12:00:00.123Z', time);

const published: Readonly<Record<string, readonly string[]>> = {
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
const asked = {
  'the subscribers of a bus': {
    operation: 'ListSubscribers',
    ask: listSubscribers,
    input: { EventBusArn: arn },
  },
  'a bus': { operation: 'DescribeEventBus', ask: describeCustomBus, input: { EventBusArn: arn } },
  'the policy of a bus': {
    operation: 'GetResourcePolicy',
    ask: policyOfCustomBus,
    input: { ResourceArn: arn },
  },
};

interface Call {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Makes the calls, each against a server that refuses it. @returns a line of JSON for each */
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
  const add = (name: string, operation: string, input: object) =>
    lines.push(JSON.stringify({ name, operation, input, ...call }));
  for (const [name, envelopes] of Object.entries(published)) {
    const entries = envelopes.map(bus.entryOf);
    await bus.put(entries).catch(() => undefined);
    add(name, 'PutEvents', { EventBusArn: arn, Entries: entries });
  }
  for (const [name, { operation, ask, input }] of Object.entries(asked)) {
    await ask(client, arn).catch(() => undefined);
    add(name, operation, input);
  }
  server.close();
  server.closeAllConnections();
  return lines;
}

describe.skipIf(!python)('the call of our client is that of botocore', () => {
  let differences: Readonly<Record<string, readonly string[]>>;
  beforeAll(async () => {
    const input = (await recorded()).join('\n');
    const compared = execFileSync(`${python}`, [`${import.meta.dirname}/compare.py`], { input });
    differences = JSON.parse(String(compared));
  });

  it.each(Object.keys({ ...published, ...asked }))('signs and sends %s as botocore does', (name) => {
    expect(differences[name]).toEqual([]);
  });
});

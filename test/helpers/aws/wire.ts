/**
 * What goes over the wire to AWS, in the units that AWS bills: counted by a server that stands before the emulators, so
 * that nothing of the functions has to be changed or trusted.
 */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Of one kind of call, such as `dynamodb PutItem`. */
export interface Calls {
  calls: number;
  /** Of SQS: requests as they are billed, one for each 64 KB begun. Of EventBridge: events, likewise. */
  billed: number;
  /** Of DynamoDB, as the emulator says by `ReturnConsumedCapacity`. */
  readUnits: number;
  writeUnits: number;
  /** Of EventBridge: bytes of the events, which the archive is paid by. */
  bytes: number;
}

const none: Calls = { calls: 0, billed: 0, readUnits: 0, writeUnits: 0, bytes: 0 };

export type Count = Readonly<Record<string, Readonly<Calls>>>;

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Targets {
  readonly dynamodb: string;
  readonly sqs: string;
  /** Plays every other service. @param operation such as `secretsmanager GetSecretValue` */
  play(operation: string, body: string, path: string): Promise<Answer> | Answer;
  /** Told of each call before it is answered. */
  readonly onCall?: ((operation: string, body: string) => void) | undefined;
}

/** SQS and EventBridge bill every 64 KB begun as one. */
const chunkBytes = 64 * 1024;
const chunks = (bytes: number): number => Math.max(1, Math.ceil(bytes / chunkBytes));

const services: Readonly<Record<string, string>> = {
  DynamoDB_20120810: 'dynamodb',
  AmazonSQS: 'sqs',
  AWSEvents: 'events',
};

/** `service Operation` of a call by the AWS JSON protocol; Lambda's own is REST. */
function operationOf(headers: IncomingHttpHeaders, url: string): string {
  const [service = '', operation = ''] = String(headers['x-amz-target'] ?? '').split('.');
  if (operation) return `${services[service] ?? service} ${operation}`;
  if (/^\/2015-03-31\/functions\/[^/]+\/invocations/.test(url)) return 'lambda Invoke';
  throw new Error(`no AWS call that is known here: ${url}`);
}

export async function startWire(targets: Targets) {
  let count: Record<string, Calls> = {};

  async function pass(base: string, headers: IncomingHttpHeaders, path: string, body: string) {
    const { 'content-length': _length, host: _host, ...rest } = headers;
    return new Promise<Answer>((resolve, reject) => {
      const sent = httpRequest(new URL(path, base), { method: 'POST', headers: rest }, async (answer) => {
        resolve({ status: answer.statusCode ?? 0, body: await textOf(answer) });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async function serve(headers: IncomingHttpHeaders, path: string, body: string): Promise<Answer> {
    const operation = operationOf(headers, path);
    targets.onCall?.(operation, body);
    count[operation] ??= { ...none };
    const calls = count[operation];
    calls.calls += 1;
    if (operation.startsWith('dynamodb ')) {
      const asked = JSON.stringify({ ...JSON.parse(body), ReturnConsumedCapacity: 'TOTAL' });
      const answer = await pass(targets.dynamodb, headers, path, asked);
      addUnits(calls, operation, answer);
      return answer;
    }
    if (operation.startsWith('sqs ')) {
      const answer = await pass(targets.sqs, headers, path, body);
      calls.billed += chunks(Math.max(body.length, operation.includes('Receive') ? answer.body.length : 0));
      return answer;
    }
    if (operation === 'events PutEvents') {
      for (const entry of JSON.parse(body).Entries) {
        const { length } = JSON.stringify(entry);
        calls.billed += chunks(length);
        calls.bytes += length;
      }
    } else calls.billed += 1;
    return targets.play(operation, body, path);
  }

  const server = createServer(async (request, response) => {
    try {
      const { status, body } = await serve(request.headers, request.url ?? '/', await textOf(request));
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
    } catch (error) {
      process.stderr.write(`wire: ${String(error)}\n`);
      response.writeHead(500).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The counts since the last call, which resets them. */
    take(): Count {
      const taken = count;
      count = {};
      return taken;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

const writes = /PutItem|UpdateItem|DeleteItem|BatchWriteItem/;

function addUnits(calls: Calls, operation: string, { status, body }: Answer): void {
  const { ConsumedCapacity } = JSON.parse(body);
  const consumed: { CapacityUnits: number }[] = [ConsumedCapacity ?? []].flat();
  // A failed condition costs as much as the write: one unit, because no item here exceeds 1 KB.
  const units = status === 200 ? consumed.reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0) : 1;
  if (writes.test(operation)) calls.writeUnits += units;
  else calls.readUnits += units;
}

/**
 * What goes over the wire to AWS: a server before the emulators takes each call apart, and counts it in the units that
 * AWS bills, so that nothing of the functions has to be changed or trusted.
 */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { cbor } from '@smithy/core/cbor';

export type Service = 'cloudformation' | 'dynamodb' | 'events' | 'lambda' | 'secretsmanager' | 'sqs';

/** A call as it is made: of the AWS JSON protocol, `input` is the body. */
export interface AwsCall {
  /** The access key of its signature. */
  readonly caller: string;
  readonly service: Service;
  /** Such as `SendMessageBatch`. */
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

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

export type OnCall = (operation: string, body: string, call: AwsCall) => void;

interface Targets {
  readonly dynamodb: string;
  readonly sqs: string;
  /** Plays every other service. @param operation such as `secretsmanager GetSecretValue` */
  play(operation: string, body: string): Promise<Answer>;
  /** Told of each call before it is answered. */
  readonly onCall?: OnCall | undefined;
}

/** SQS and EventBridge bill every 64 KB begun as one. */
const chunkBytes = 64 * 1024;
const chunks = (bytes: number): number => Math.max(1, Math.ceil(bytes / chunkBytes));

const services: Readonly<Record<string, Service>> = {
  DynamoDB_20120810: 'dynamodb',
  AmazonSQS: 'sqs',
  AWSEvents: 'events',
  secretsmanager: 'secretsmanager',
};

const callerOf = ({ authorization = '' }: IncomingHttpHeaders): string =>
  /Credential=([^/]+)/.exec(authorization)?.[1] ?? '';

/** A call of the Custom Event Bus, in the form of the classic one, where each entry names its bus. */
function customBusCallOf(headers: IncomingHttpHeaders, path: string, body: Buffer): AwsCall {
  const { EventBusArn, Entries } = cbor.deserialize(body) as { EventBusArn: string; Entries: object[] };
  const input = { Entries: Entries.map((entry) => ({ ...entry, EventBusName: EventBusArn })) };
  return { caller: callerOf(headers), service: 'events', operation: path.split('/').at(-1) ?? '', input };
}

/** @throws {Error} for a call of a service that is not known here */
function callOf(headers: IncomingHttpHeaders, path: string, body: string): AwsCall {
  const caller = callerOf(headers);
  const [target = '', operation = ''] = String(headers['x-amz-target'] ?? '').split('.');
  const service = services[target];
  if (service) return { caller, service, operation, input: JSON.parse(body) };
  const [, functionName, what] =
    /^\/2015-03-31\/functions\/([^/]+)\/(invocations|configuration)/.exec(path) ?? [];
  if (functionName) {
    const operation = what === 'invocations' ? 'Invoke' : 'GetFunctionConfiguration';
    const input = { FunctionName: decodeURIComponent(functionName), Payload: body };
    return { caller, service: 'lambda', operation, input };
  }
  // CloudFormation has the query protocol: the body is a form.
  const { Action, ...input } = Object.fromEntries(new URLSearchParams(body));
  if (Action !== 'DescribeStacks') throw new Error(`no AWS call that is known here: ${target} ${path}`);
  return { caller, service: 'cloudformation', operation: Action, input };
}

export async function startWire(targets: Targets) {
  let count: Record<string, Calls> = {};

  async function serve(call: AwsCall, forward: (base: string, body: string) => Promise<Answer>) {
    const { service, operation: name, input } = call;
    const operation = `${service} ${name}`;
    const body = service === 'lambda' ? String(input.Payload) : JSON.stringify(input);
    targets.onCall?.(operation, body, call);
    count[operation] ??= { ...none };
    const calls = count[operation];
    calls.calls += 1;
    if (service === 'dynamodb') {
      const asked = JSON.stringify({ ...input, ReturnConsumedCapacity: 'TOTAL' });
      const answer = await forward(targets.dynamodb, asked);
      addUnits(calls, operation, answer);
      return answer;
    }
    if (service === 'sqs') {
      // The emulator knows a queue by its whole URL.
      const { href } = new URL(new URL(String(input.QueueUrl)).pathname, targets.sqs);
      const answer = await forward(targets.sqs, JSON.stringify({ ...input, QueueUrl: href }));
      calls.billed += chunks(Math.max(body.length, name.startsWith('Receive') ? answer.body.length : 0));
      return answer;
    }
    if (name === 'PutEvents') {
      for (const entry of input.Entries as readonly object[]) {
        const { length } = JSON.stringify(entry);
        calls.billed += chunks(length);
        calls.bytes += length;
      }
    } else calls.billed += 1;
    return targets.play(operation, body);
  }

  const server = createServer(async (request, response) => {
    try {
      const { headers, method = '', url: path = '/' } = request;
      const sent = await buffer(request);
      if (path.startsWith('/service/AWSEventsV2/')) {
        const { status, body } = await serve(customBusCallOf(headers, path, sent), () => Promise.reject());
        const given = { 'content-type': 'application/cbor', 'smithy-protocol': 'rpc-v2-cbor' };
        return void response.writeHead(status, given).end(cbor.serialize(JSON.parse(body)));
      }
      const { status, body } = await serve(callOf(headers, path, String(sent)), (base, changed) =>
        pass(base, { method, path, headers }, changed),
      );
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
    } catch (error) {
      response.writeHead(500).end(String(error));
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

const writes = /PutItem|UpdateItem|DeleteItem|BatchWriteItem/;

function addUnits(calls: Calls, operation: string, { status, body }: Answer): void {
  const { ConsumedCapacity } = JSON.parse(body);
  const consumed: { CapacityUnits: number }[] = [ConsumedCapacity ?? []].flat();
  // A failed condition costs as much as the write: one unit, because no item here exceeds 1 KB.
  const units = status === 200 ? consumed.reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0) : 1;
  if (writes.test(operation)) calls.writeUnits += units;
  else calls.readUnits += units;
}

function pass(
  base: string,
  { method, path, headers }: { method: string; path: string; headers: IncomingHttpHeaders },
  body: string,
): Promise<Answer> {
  const { 'content-length': _length, host: _host, ...rest } = headers;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(path, base), { method, headers: rest }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

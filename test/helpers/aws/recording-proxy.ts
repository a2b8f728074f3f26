/** A proxy between one function and AWS (or an emulator): forwards every call and reports it. */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export const services = ['cloudformation', 'dynamodb', 'events', 'lambda', 'secretsmanager', 'sqs'] as const;
export type Service = (typeof services)[number];

/** A call as it is made: of the AWS JSON protocol, `input` is the body. */
export interface AwsCall {
  readonly service: Service;
  /** Such as `SendMessageBatch`. */
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Passes the call on to a URL, with another body if need be. */
export type Forward = (base: string, body?: string) => Promise<Answer>;

/** A URL to pass the call on to, or what answers it. */
export type Upstream = string | ((call: AwsCall, forward: Forward) => Promise<Answer>);

export interface RecordingProxyOptions {
  readonly upstream: Readonly<Record<Service, Upstream>>;
  readonly record?: (call: AwsCall) => void;
}

export interface RecordingProxy {
  readonly url: string;
  stop(): Promise<void>;
}

const targets: Readonly<Record<string, Service>> = {
  DynamoDB_20120810: 'dynamodb',
  AmazonSQS: 'sqs',
  AWSEvents: 'events',
  secretsmanager: 'secretsmanager',
};

/** @throws {Error} for a call of a service that is not known here */
function callOf(headers: IncomingHttpHeaders, path: string, body: string): AwsCall {
  const [target = '', operation = ''] = String(headers['x-amz-target'] ?? '').split('.');
  const service = targets[target];
  if (service) return { service, operation, input: JSON.parse(body) };
  const [, functionName, what] =
    /^\/2015-03-31\/functions\/([^/]+)\/(invocations|configuration)/.exec(path) ?? [];
  if (functionName) {
    const operation = what === 'invocations' ? 'Invoke' : 'GetFunctionConfiguration';
    const input = { FunctionName: decodeURIComponent(functionName), Payload: body };
    return { service: 'lambda', operation, input };
  }
  // CloudFormation has the query protocol: the body is a form.
  const { Action, ...input } = Object.fromEntries(new URLSearchParams(body));
  if (Action !== 'DescribeStacks') throw new Error(`no AWS call that is known here: ${target} ${path}`);
  return { service: 'cloudformation', operation: Action, input };
}

export async function startRecordingProxy(options: RecordingProxyOptions): Promise<RecordingProxy> {
  const { upstream, record } = options;
  const server = createServer(async (request, response) => {
    try {
      const { headers, method = '', url: path = '/' } = request;
      const text = await textOf(request);
      const call = callOf(headers, path, text);
      record?.(call);
      const to = upstream[call.service];
      const forward: Forward = (base, changed = text) => pass(base, { method, path, headers }, changed);
      const { status, body } = typeof to === 'string' ? await forward(to) : await to(call, forward);
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

function pass(base: string, { method, path, headers }: Sent, body: string): Promise<Answer> {
  const { 'content-length': _length, host: _host, ...rest } = headers;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(path, base), { method, headers: rest }, (answer) => {
      textOf(answer).then((text) => resolve({ status: answer.statusCode ?? 0, body: text }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

/** A proxy between one function and AWS (or an emulator): forwards every call and reports it. */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { storeKeys } from '../../../shared/contract/tables.ts';
import type { AwsCall, Service } from './aws-call.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A URL to hand the call on to, or an answer. */
export type Upstream = string | ((call: AwsCall) => Promise<Answer>);

export interface RecordingProxyOptions {
  readonly upstream: Readonly<Record<Service, Upstream>>;
  readonly record: (call: AwsCall) => void;
  /**
   * Sends along the item that a failed condition met, where `ReturnValuesOnConditionCheckFailure` asks for it: AWS does,
   * dynalite does not, and a function that gets none looks for itself, by a call that it does not make on AWS.
   */
  readonly fillsInItems?: boolean;
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
  const { upstream, record, fillsInItems = false } = options;

  async function serve(headers: IncomingHttpHeaders, method: string, path: string, body: string) {
    const call = callOf(headers, path, body);
    record(call);
    const to = upstream[call.service];
    if (typeof to !== 'string') return to(call);
    const answer = await pass(to, { method, path, headers }, body);
    return fillsInItems && answer.status === 400 ? withItem(to, headers, call, answer) : answer;
  }

  const server = createServer(async (request, response) => {
    try {
      const text = await textOf(request);
      const { status, body } = await serve(request.headers, request.method ?? '', request.url ?? '/', text);
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

const keyNames = Object.values(storeKeys);

async function withItem(
  base: string,
  headers: IncomingHttpHeaders,
  { input }: AwsCall,
  answer: Answer,
): Promise<Answer> {
  const fault = JSON.parse(answer.body);
  const isAsked = input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD';
  if (!isAsked || fault.Item || !/ConditionalCheckFailed/.test(fault.__type)) return answer;
  const from = (input.Key ?? input.Item) as Readonly<Record<string, unknown>>;
  const Key = Object.fromEntries(keyNames.filter((name) => from[name]).map((name) => [name, from[name]]));
  const read = { ...headers, 'x-amz-target': 'DynamoDB_20120810.GetItem' };
  const question = JSON.stringify({ TableName: input.TableName, Key, ConsistentRead: true });
  const { body } = await pass(base, { method: 'POST', path: '/', headers: read }, question);
  return { ...answer, body: JSON.stringify({ ...fault, Item: JSON.parse(body).Item }) };
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

/** A proxy between functions and AWS (or an emulator), which takes each call apart. */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

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

/** Passes the call on to a URL, with another body if need be. */
export type Forward = (base: string, body?: string) => Promise<Answer>;

const targets: Readonly<Record<string, Service>> = {
  DynamoDB_20120810: 'dynamodb',
  AmazonSQS: 'sqs',
  AWSEvents: 'events',
  secretsmanager: 'secretsmanager',
};

/** @throws {Error} for a call of a service that is not known here */
function callOf(headers: IncomingHttpHeaders, path: string, body: string): AwsCall {
  const [, caller = ''] = /Credential=([^/]+)/.exec(headers.authorization ?? '') ?? [];
  const [target = '', operation = ''] = String(headers['x-amz-target'] ?? '').split('.');
  const service = targets[target];
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

/** @param serve answers each call, or passes it on */
export async function startRecordingProxy(serve: (call: AwsCall, forward: Forward) => Promise<Answer>) {
  const server = createServer(async (request, response) => {
    try {
      const { headers, method = '', url: path = '/' } = request;
      const sentBody = await text(request);
      const forward: Forward = (base, changed = sentBody) => pass(base, { method, path, headers }, changed);
      const { status, body } = await serve(callOf(headers, path, sentBody), forward);
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

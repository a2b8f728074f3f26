import type { IncomingMessage } from 'node:http';
import { jsonObject } from '../http/request.ts';
import { type Answer, answerWith } from '../state/answer.ts';
import type { SandboxControl } from './control.ts';

export const controlPath = '/_sandbox';

/** What only the sandbox itself calls, or only its own process may read. */
const notServed = ['journal.add', 'faults.strike', 'issuedTokens'];
const example = { method: 'createAdverts', args: [3, { user: 'main', status: 'active' }] };

/**
 * The control interface over HTTP, for other processes and for people with curl. POST /_sandbox/ with
 * `{"method", "args"}` answers with what the method of {@link SandboxControl} or of one of its parts returns, or
 * `{"done":true}`; an answer of 400 has the reason in `error`. GET /_sandbox/ lists the methods.
 */
export function answerControl(control: SandboxControl, incoming: IncomingMessage, body: string): Answer {
  if (!isOwnHost(incoming)) return answerWith(403, { error: 'the control interface is for 127.0.0.1 only' });
  if (incoming.url?.replace(/\/$/, '') !== controlPath)
    return answerWith(404, { error: `everything is at ${controlPath}/` });
  const members = Object.entries(control).flatMap(([name, member]) =>
    typeof member === 'function' ? [name] : Object.keys(member).map((part) => `${name}.${part}`),
  );
  const calls = members.filter((name) => !notServed.includes(name));
  if (incoming.method === 'GET') return answerWith(200, { about: 'POST {method, args}', example, calls });
  try {
    return answerWith(200, JSON.stringify(call(control, calls, jsonObject(body)) ?? { done: true }));
  } catch (error) {
    return answerWith(400, { error: error instanceof Error ? error.message : String(error) });
  }
}

/** A page of a foreign site may reach this port by a name of its own, but cannot send this Host and Origin. */
function isOwnHost({ headers: { host = '', origin }, socket: { localPort } }: IncomingMessage): boolean {
  const isOwn = host === `127.0.0.1:${localPort}` || host === `localhost:${localPort}`;
  return isOwn && (origin === undefined || origin === `http://${host}`);
}

function call(
  control: SandboxControl,
  calls: readonly string[],
  { method, args = [], ...others }: Record<string, unknown> = {},
): unknown {
  const [stray] = Object.keys(others);
  if (stray !== undefined) throw new RangeError(`expected {method, args}, and there is ${stray}`);
  if (typeof method !== 'string' || !calls.includes(method))
    throw new RangeError(`no method ${method}: GET ${controlPath}/ lists them`);
  if (!Array.isArray(args)) throw new RangeError('args is not an array');
  const [name = '', part] = method.split('.').reverse();
  const owner: object = part === undefined ? control : Reflect.get(control, part);
  const member: unknown = Reflect.get(owner, name);
  return typeof member === 'function' ? member.apply(owner, args) : member;
}

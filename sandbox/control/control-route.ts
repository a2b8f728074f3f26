import type { IncomingMessage, RequestListener } from 'node:http';
import { jsonObject } from '../http/request.ts';
import { readBody, send } from '../http/wire.ts';
import { type Answer, json } from '../state/answer.ts';
import type { SandboxControl } from './control.ts';

export const controlPath = '/_sandbox';

/** What can be called over HTTP: methods of {@link SandboxControl} and of its parts. */
const calls = [
  ...[
    'truth',
    'advert',
    'changeCount',
    'users',
    'addUser',
    'createAdverts',
    'setStatus',
    'remove',
    'restore',
  ],
  ...['changeRandomly', 'listRaw', 'settings', 'change', 'invalidateCursors', 'expireAccessTokens', 'revoke'],
  ...['issueRefreshToken', 'issueCode', 'replaceClientSecret', 'setConsent'],
  ...['clock.now', 'clock.set', 'clock.advance', 'journal.list', 'journal.nextIndex', 'journal.clear'],
  ...['faults.list', 'faults.add', 'faults.remove', 'faults.clear'],
];
const example = { method: 'createAdverts', args: [3, { user: 'main', status: 'active' }] };

/**
 * The control interface over HTTP, for other processes and for people with curl. POST /_sandbox/ with
 * `{"method", "args"}` answers with what the method returns; an answer of 400 has the reason in `error`. GET /_sandbox/
 * lists the methods.
 */
export function createControlListener(control: SandboxControl): RequestListener {
  return async (incoming, response) => {
    const body = await readBody(incoming).catch(() => undefined);
    send(response, control.clock, answer(control, incoming, body));
  };
}

function answer(control: SandboxControl, incoming: IncomingMessage, body: string | undefined): Answer {
  if (!isOwnHost(incoming)) return json(403, { error: 'the control interface is for 127.0.0.1 only' });
  if (incoming.url?.replace(/\/$/, '') !== controlPath)
    return json(404, { error: `everything is at ${controlPath}/` });
  if (incoming.method === 'GET') return json(200, { about: 'POST {method, args}', example, calls });
  try {
    return json(200, call(control, jsonObject(body)) ?? null);
  } catch (error) {
    return json(400, { error: error instanceof Error ? error.message : String(error) });
  }
}

/** A page of a foreign site may reach this port by a name of its own, but cannot send this Host and Origin. */
function isOwnHost({ headers: { host = '', origin }, socket: { localPort } }: IncomingMessage): boolean {
  const isOwn = host === `127.0.0.1:${localPort}` || host === `localhost:${localPort}`;
  return isOwn && (origin === undefined || origin === `http://${host}`);
}

function call(
  control: SandboxControl,
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

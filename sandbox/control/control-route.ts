import type { IncomingMessage, RequestListener } from 'node:http';
import { jsonObject } from '../http/request.ts';
import { readBody, send } from '../http/wire.ts';
import { type Answer, json } from '../state/answer.ts';
import type { SandboxControl } from './control.ts';

export const controlPath = '/_sandbox';

/**
 * The methods of {@link SandboxControl} that can be called over HTTP, with every argument that they take. What is sent
 * must be like the example: no other arguments or fields, and values of the same type.
 */
const examples: Readonly<Record<string, readonly unknown[]>> = {
  truth: ['main'],
  advert: ['1001'],
  changeCount: ['main'],
  users: [],
  addUser: ['other', { adverts: 5, refreshToken: 'a-ready-made-one', scope: 'v2 read write' }],
  createAdverts: [3, { user: 'main', status: 'active' }],
  setStatus: ['1001', 'active'],
  remove: ['1001'],
  restore: ['1001', 'active'],
  changeRandomly: [100, { user: 'main' }],
  listRaw: ['not-a-number', 'main'],
  'clock.now': [],
  'clock.set': [1_800_000_000_000],
  'clock.advance': [1000],
  'journal.list': [0, 100],
  'journal.nextIndex': [],
  'journal.clear': [],
  'faults.list': [],
  'faults.add': [
    { kind: 'status', status: 429, headers: { 'retry-after': '2' }, endpoint: 'advert', count: 3 },
  ],
  'faults.remove': [1],
  'faults.clear': [],
  settings: [],
  change: [{ latencyMs: 20, assumptions: { removedAdvertStatus: 410 } }],
  invalidateCursors: ['main'],
  expireAccessTokens: ['main'],
  revoke: ['main'],
  issueRefreshToken: ['main', 'v2 read'],
  issueCode: [{ user: 'main', scope: 'v2 read', redirectUri: 'http://127.0.0.1:8765/callback' }],
  replaceClientSecret: ['another-secret'],
  setConsent: [{ mode: 'allow', user: 'main' }],
};
/** They have more fields than fit into an example, and check these themselves. */
const checkThemselves = ['faults.add', 'change'];

/**
 * The control interface over HTTP, for other processes and for people with curl. POST /_sandbox/ with
 * `{"method", "args"}` answers with what the method returns; an answer of 400 has the reason in `error`. GET /_sandbox/
 * lists the methods, each with an example.
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
  if (incoming.method === 'GET') return json(200, { about: 'POST one of these', calls: index() });
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

function index(): unknown {
  return Object.entries(examples).map(([method, args]) => ({ method, args }));
}

function call(control: SandboxControl, body: Record<string, unknown> = {}): unknown {
  const { method = '', args = [] } = body;
  const example = typeof method === 'string' && Object.hasOwn(examples, method) && examples[method];
  if (!example) throw new RangeError(`no method ${method}: GET ${controlPath}/ lists them`);
  checkLike({ method, args: example }, body, checkThemselves.includes(String(method)) ? 2 : 4);
  const [name = '', part] = String(method).split('.').reverse();
  const owner: object = part === undefined ? control : Reflect.get(control, part);
  const member: unknown = Reflect.get(owner, name);
  return typeof member === 'function' ? member.apply(owner, args) : member;
}

/** @throws {RangeError} naming the first value that is not like the example, down to so many levels */
function checkLike(example: object, value: object, levels: number): void {
  for (const [name, given] of Object.entries(value)) {
    const expected: unknown = Object.entries(example).find(([known]) => known === name)?.[1];
    if (expected === undefined) throw new RangeError(`there is no ${name}`);
    const isAlike = typeof given === typeof expected && Array.isArray(given) === Array.isArray(expected);
    if (!isAlike) throw new RangeError(`${name} cannot be ${JSON.stringify(given)}`);
    if (typeof given === 'object' && given && levels > 1) checkLike(expected as object, given, levels - 1);
  }
}

import { onTestFinished } from 'vitest';
import { seededRandom } from '../../../kits/typescript/testing/player.ts';
import { type SandboxOptions, startSandbox } from '../../../sandbox/server.ts';

/** Noon, so that a test that does not mean to cross midnight does not. */
export const noonMs = Date.UTC(2026, 10, 20, 12);
export const hourMs = 3_600_000;
export const longAgo = '2026-01-01T00:00:00Z';
export type Headers = Readonly<Record<string, string>>;

interface Answered {
  readonly status: number;
  readonly headers: Response['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service sends; an empty object when it sends none.
  readonly body: any;
}

/** A sandbox with a standing clock, seeded randomness and no visibility delay, and a client for it. */
export async function start(options: SandboxOptions = {}) {
  const clock = { now: () => noonMs };
  const sandbox = await startSandbox({ clock, random: seededRandom(7), visibilityDelayMs: 0, ...options });
  onTestFinished(() => sandbox.close());
  const { url, application, control } = sandbox;
  const { clientId: client_id, clientSecret: client_secret } = application;

  async function call(path: string, init: RequestInit): Promise<Answered> {
    const response = await fetch(url + path, { redirect: 'manual', ...init });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json' && /^[[{].*[\]}]$/.test(text);
    const { status, headers } = response;
    return { status, headers, text, body: isJson ? JSON.parse(text) : {} };
  }
  const post = (path: string, body: unknown, headers: Headers = {}) =>
    call(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  /** A token request with the application's credentials. */
  const token = (fields: object) => post('/api/open/oauth/token', { client_id, client_secret, ...fields });
  const refresh = (refresh_token = 'sandbox-refresh-token-main') =>
    token({ grant_type: 'refresh_token', refresh_token });
  /** The headers of a request with a valid token of the user, by default the first one. */
  const bearer = async (user?: string, scope?: string): Promise<Headers> => {
    const { body } = await refresh(control.issueRefreshToken(user, scope));
    return { authorization: `Bearer ${body.access_token}`, version: '2.0' };
  };
  const get = async (path: string, headers?: Headers) => call(path, { headers: headers ?? (await bearer()) });
  const feed = (query: Headers, headers?: Headers) =>
    get(`/api/partner/status/adverts?${new URLSearchParams(query)}`, headers);
  return { sandbox, control, get, feed, post, token, refresh, bearer };
}

export type Started = Awaited<ReturnType<typeof start>>;

import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/server.ts';
import type { Clock } from '../../../sandbox/state/clock.ts';
import { seededRandom } from '../../../sandbox/state/random.ts';

/** Noon, so that a test that does not mean to cross midnight does not. */
export const noonMs = Date.UTC(2026, 10, 20, 12);
export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
export const longAgo = '2026-01-01T00:00:00Z';

export interface Answered<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; an empty object when it is none. */
  readonly body: T;
}

export interface FeedPage {
  readonly data: string[];
  readonly hasMore: boolean;
  readonly nextCursor: string;
}

export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly token_type: string;
  readonly error?: string;
}

/** A sandbox with a standing clock, seeded randomness and no visibility delay, and a client for it. */
export async function start(options: SandboxOptions = {}): Promise<{ sandbox: Sandbox } & Client> {
  const clock: Clock = { now: () => noonMs };
  const sandbox = await startSandbox({ clock, random: seededRandom(7), visibilityDelayMs: 0, ...options });
  onTestFinished(() => sandbox.close());
  return { sandbox, ...createClient(sandbox) };
}

export interface Client {
  /** A request with a valid token of the first user and a Version header, unless the options say otherwise. */
  get<T = Record<string, unknown>>(path: string, headers?: Record<string, string>): Promise<Answered<T>>;
  feed(query: Record<string, string>): Promise<Answered<FeedPage>>;
  /** POST of JSON without Authorization. */
  post<T = Record<string, unknown>>(
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<Answered<T>>;
  /** A token request with the application's credentials. */
  token(fields: Record<string, unknown>): Promise<Answered<TokenPair>>;
  refresh(refreshToken?: string): Promise<Answered<TokenPair>>;
  bearer(user?: string): Promise<Record<string, string>>;
}

function createClient({ url, application, users, control }: Sandbox): Client {
  const call = async <T>(path: string, init: RequestInit): Promise<Answered<T>> => {
    const response = await fetch(url + path, { redirect: 'manual', ...init });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed<T>(text) };
  };
  const { clientId: client_id, clientSecret: client_secret } = application;
  const client: Client = {
    get: async (path, headers) => call(path, { headers: headers ?? (await client.bearer()) }),
    feed: (query) => client.get(`/api/partner/status/adverts?${new URLSearchParams(query)}`),
    post: (path, body, headers) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return call(path, {
        method: 'POST',
        body: text,
        headers: { 'content-type': 'application/json', ...headers },
      });
    },
    token: (fields) => client.post('/api/open/oauth/token', { client_id, client_secret, ...fields }),
    refresh: (refresh_token = users[0]?.refreshToken ?? '') =>
      client.token({ grant_type: 'refresh_token', refresh_token }),
    bearer: async (user) => {
      const { body } = await client.refresh(control.issueRefreshToken(user));
      return { authorization: `Bearer ${body.access_token}`, version: '2.0' };
    },
  };
  return client;
}

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return {} as T;
  }
}

import { request as httpRequest } from 'node:http';
import { onTestFinished } from 'vitest';
import type { SandboxOptions } from '../../../../sandbox/server.ts';
import { type Local, startLocal } from '../local-bridge.ts';
import type { CliOptions, Ended } from '../run-cli.ts';

/** The address to which the service redirects the browser, as the command requested. */
export interface Asked {
  /** Of the partner service. */
  readonly url: string;
  readonly redirectUri: string;
  readonly state: string;
}

export interface Page {
  readonly status: number;
  /** Where it ended. */
  readonly url: string;
  readonly html: string;
  readonly headers: Headers;
}

/** A sandbox, an embedded bridge with a stored application, and an interactive `connect`. */
export async function startAuthorizing(options: SandboxOptions = {}) {
  const local = await startLocal(options, onTestFinished);
  await local.application();
  return { ...local, connecting: (args = '', more: CliOptions = {}) => connecting(local, args, more) };
}

/** Runs `connect main` until it waits for the browser. */
async function connecting(
  { run }: Local,
  args: string,
  { onOutput = () => undefined, ...options }: CliOptions,
): Promise<{ readonly asked: Asked; readonly ended: Promise<Ended> }> {
  const said = Promise.withResolvers<Asked>();
  let text = '';
  const ended = run(`connect main${/--port/.test(args) ? '' : ' --port 0'}${args}`, {
    ...options,
    onOutput: (more) => {
      onOutput(more);
      text += more;
      const url = /^ {2}(http\S+)$/m.exec(text)?.[1];
      if (url !== undefined && /Waiting|Paste/.test(text)) said.resolve(askedIn(url));
    },
  });
  const asked = await Promise.race([said.promise, ended]);
  if ('exitCode' in asked) throw new Error(`it ended at once: ${asked.stderr}`);
  return { asked, ended };
}

function askedIn(url: string): Asked {
  const { searchParams } = new URL(url);
  return {
    url,
    redirectUri: searchParams.get('redirect_uri') ?? '',
    state: searchParams.get('state') ?? '',
  };
}

/** As a browser goes: follows redirects to the page at the end. */
export async function visit(url: string, headers: Record<string, string> = {}): Promise<Page> {
  const response = await fetch(url, { headers });
  return {
    status: response.status,
    url: response.url,
    html: await response.text(),
    headers: response.headers,
  };
}

/** The callback with these parameters in addition to those of the redirect URI. */
export const callback = ({ redirectUri }: Asked, parameters: Record<string, string>): string => {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
};

/** A request whose Host and method are free, which `fetch` does not allow. */
export function rawStatus(url: string, options: { host?: string; method?: string }): Promise<number> {
  const { host, method = 'GET' } = options;
  return new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { host };
    httpRequest(url, { method, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end();
  });
}

import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { stateFileIn } from '../../../../../embedded/state/file/private-folder.ts';
import type { SandboxOptions } from '../../../../../sandbox/server.ts';
import { freePort } from '../../../../helpers/free-port.ts';
import { startLocal } from '../local-bridge.ts';
import { type CliOptions, newFolder, rawStatus } from '../run-cli.ts';

/** A sandbox whose user allows, an embedded bridge with a stored application, and an interactive `connect`. */
async function startAuthorizing(options: SandboxOptions = {}) {
  const local = await startLocal(options);
  await local.application();
  local.sandbox.control.setConsent({ mode: 'allow' });

  /** Runs `connect main` until it waits for the browser. */
  async function connecting(args = '', options: CliOptions = {}) {
    const shown = Promise.withResolvers<string>();
    let text = '';
    const ended = local.run(`connect main${/--port/.test(args) ? '' : ' --port 0'}${args}`, {
      ...options,
      onOutput: (more) => {
        text += more;
        const [, address] = /^ {2}(http\S+)$/m.exec(text) ?? [];
        if (address !== undefined && /Waiting|Paste/.test(text)) shown.resolve(address);
      },
    });
    const url = await Promise.race([shown.promise, ended]);
    if (typeof url === 'object') throw new Error(`it ended at once: ${url.stderr}`);
    const { searchParams } = new URL(url);
    const redirectUri = searchParams.get('redirect_uri') ?? '';
    const state = searchParams.get('state') ?? '';
    /** The callback with the state and these parameters. */
    const callback = (parameters: Record<string, string>) =>
      `${redirectUri}?${new URLSearchParams({ state, ...parameters })}`;
    return { url, redirectUri, state, callback, ended };
  }
  return { ...local, connecting };
}

/** As a browser goes: follows redirects to the page at the end. */
async function visit(address: string) {
  const response = await fetch(address);
  const { status, url, headers } = response;
  return { status, url, html: await response.text(), headers };
}

it('connect asks for what the documents say, on a page loading nothing', async () => {
  const { sandbox, connecting, status } = await startAuthorizing();
  sandbox.control.createAdverts(2);

  const { url, redirectUri, ended } = await connecting();
  const { status: answered, html, headers } = await visit(url);

  expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
    client_id: 'sandbox-client',
    response_type: 'code',
    scope: 'v2 read write',
    state: expect.stringMatching(/^[\w-]{43}$/),
    redirect_uri: redirectUri,
  });
  expect(await ended).toMatchObject({ exitCode: 0, stdout: '' });
  expect((await ended).stderr).toContain('Connected main (scope v2 read write');
  expect((await ended).stderr).toContain('2 adverts have changed lately');
  expect([answered, html]).toEqual([200, expect.stringContaining('The terminal shows the outcome')]);
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(html).not.toMatch(/https?:|<script|src=/);
  expect((await status()).partnerAccounts).toMatchObject([{ name: 'main', state: 'polling' }]);
});

it('the code is in no address, no header and no text of its own', async () => {
  const { sandbox, connecting, dir } = await startAuthorizing();
  const { redirectUri, callback, ended } = await connecting(' --json');
  const code = sandbox.control.issueCode({ redirectUri });

  const page = await visit(callback({ code }));

  const { stdout, stderr } = await ended;
  expect(page.url).toBe(`${redirectUri}/result`);
  expect(page.html + stdout + stderr + JSON.stringify([...page.headers])).not.toContain(code);
  expect(JSON.parse(stdout)).toMatchObject({ isNew: true, feed: { kind: 'read' } });
  expect(readFileSync(stateFileIn(dir)).includes(code)).toBe(false);
});

it('connect ends with 3 when it is connected but the feed does not answer', async () => {
  const { sandbox, connecting, status } = await startAuthorizing();
  sandbox.control.faults.add({ endpoint: 'feed', kind: 'status', status: 400 });

  const { url, ended } = await connecting();
  await visit(url);

  expect(await ended).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('(invalid-request)') });
  expect((await status()).partnerAccounts).toHaveLength(1);
});

// Other systems have no such address until it is set up.
const addresses = process.platform === 'linux' ? ['127.0.0.1', '127.0.0.2'] : ['127.0.0.1'];
it.each(addresses)(
  'the browser returns to a registered loopback address with a query: %s',
  async (address) => {
    const port = await freePort();
    const redirectUri = `http://${address}:${port}/back/here?via=bridge`;
    const { connecting } = await startAuthorizing({ callbackUrls: [`http://${address}:${port}/back`] });

    const begun = await connecting(` --port ${port} --redirect-uri ${redirectUri}`);
    const page = await visit(begun.url);

    expect([begun.redirectUri, page.status]).toEqual([redirectUri, 200]);
    expect(await begun.ended).toMatchObject({ exitCode: 0 });
  },
);

it('the browser opens by a page only the user can read, if it opens', async () => {
  const { connecting } = await startAuthorizing();
  const bin = newFolder();
  const opener = path.join(bin, 'xdg-open');
  const [seen, script] = [path.join(bin, 'seen'), path.join(bin, 'opener.cjs')];
  writeFileSync(
    script,
    `const fs = require('node:fs'), page = new URL(process.argv[2]), html = fs.readFileSync(page, 'utf8');
       fs.writeFileSync('${seen}', page.href + ' ' + (fs.statSync(page).mode & 0o777).toString(8));
       fetch(/url=([^"]+)"/.exec(html)[1].replaceAll('&#38;', '&'));`,
  );
  writeFileSync(opener, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$1"\n`);
  chmodSync(opener, 0o755);

  const opened = await connecting(' --open', { env: { PATH: bin } });
  expect(await opened.ended).toMatchObject({ exitCode: 0 });
  const [, page = '', mode] = /^(file:\S+) (\d+)$/.exec(readFileSync(seen, 'utf8')) ?? [];
  expect(mode).toBe('600');
  expect(existsSync(new URL(page))).toBe(false);

  const without = await connecting(' --open --same-user', { env: { PATH: newFolder() } });
  await visit(without.url);
  expect(await without.ended).toMatchObject({ exitCode: 0 });
});

it.each([
  ['the user denies it', '&error=access_denied'],
  ['it is refused with more than a code', '&error=<b>x</b>'],
  ['no code comes', ''],
  ['the code is empty', '&code='],
  ['the code is none of the service', '&code=hunter2'],
  ['two codes come', '&code=hunter2&code=b'],
])('connect says so and stores nothing: %s', async (_case, parameters) => {
  const { connecting, status } = await startAuthorizing();

  const { callback, ended } = await connecting();
  const page = await visit(`${callback({})}${parameters}`);

  const { exitCode, stdout, stderr } = await ended;
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(page.html + stderr).not.toMatch(/hunter2|<b>/);
  expect((await status()).partnerAccounts).toEqual([]);
});

it.each(['', ' --paste'])('connect ends when nobody comes in time: connect%s', async (args) => {
  const { connecting } = await startAuthorizing();
  const way = args === '' ? '' : `${args} --port 8765`;

  const { ended } = await connecting(`${way} --timeout-seconds 1`, { input: new PassThrough() });

  expect(await ended).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('no answer came within 1 s'),
  });
});

it('connect ends when it is interrupted', async () => {
  const { connecting, status } = await startAuthorizing();
  const interrupt = new AbortController();

  const { redirectUri, ended } = await connecting('', { signal: interrupt.signal });
  interrupt.abort();

  expect(await ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('interrupted before') });
  await expect(fetch(redirectUri)).rejects.toThrow();
  expect((await status()).partnerAccounts).toEqual([]);
});

it('only the callback is answered while connect goes on waiting', async () => {
  const { connecting } = await startAuthorizing();
  const { url, redirectUri, callback, ended } = await connecting();
  const { origin, host } = new URL(redirectUri);
  const good = callback({ code: 'hunter2' });

  expect((await visit(`${origin}/favicon.ico`)).status).toBe(404);
  expect((await visit(`${origin}/`)).status).toBe(404);
  expect((await visit(`${redirectUri}/result`)).status).toBe(404);
  expect(await rawStatus(good, { host: 'evil.example' })).toBe(421);
  expect(await rawStatus(good, { host: `localhost:${host.split(':')[1]}` })).toBe(421);
  expect(await rawStatus(good, { method: 'POST' })).toBe(405);
  expect(await rawStatus(good, { method: 'HEAD' })).toBe(405);

  await visit(url);
  expect(await ended).toMatchObject({ exitCode: 0 });
});

it('answers without its state are refused, once reported, and waited past', async () => {
  const { connecting } = await startAuthorizing();
  const { url, redirectUri, state, ended } = await connecting();

  for (const query of [
    `code=hunter2&state=${'x'.repeat(43)}`,
    'code=hunter2&state=',
    'code=hunter2',
    '',
    `state=${state}&state=${state}&code=hunter2`,
    `state=${state}&state=x&code=hunter2`,
    `state=${state.toUpperCase()}&code=hunter2`,
    'error=access_denied&state=x',
    'error=access_denied',
    `code=hunter2&state=${'x'.repeat(8_000)}`,
  ]) {
    const page = await visit(`${redirectUri}?${query}`);
    expect([query, page.status]).toEqual([query, 400]);
    expect(page.html).not.toContain('hunter2');
  }

  expect((await visit(url)).status).toBe(200);
  const { exitCode, stderr } = await ended;
  expect(exitCode).toBe(0);
  expect(stderr.split('its state is missing or different')).toHaveLength(2);
  expect(stderr).not.toContain('hunter2');
});

it('only the first callback counts, and no stranger ends its exchange', async () => {
  const { sandbox, connecting } = await startAuthorizing();
  const { redirectUri, callback, ended } = await connecting();
  const code = sandbox.control.issueCode({ redirectUri });
  const first = await fetch(callback({ code }), { redirect: 'manual' });

  // Not followed: the command may end once the last page was shown.
  const second = await fetch(callback({ code: 'hunter2' }), { redirect: 'manual' });
  const stranger = await visit(callback({ code: 'hunter2', state: 'x' }));
  const result = await visit(`${redirectUri}/result`);

  expect([first.status, second.status, stranger.status]).toEqual([303, 303, 400]);
  expect(result.status).toBe(200);
  expect(await ended).toMatchObject({ exitCode: 0 });
});

const paste = async (pasted: (url: string) => string) => {
  const { connecting, status } = await startAuthorizing();
  const input = new PassThrough();
  const { url, ended } = await connecting(' --paste --port 8765', { input });
  const { headers } = await fetch(url, { redirect: 'manual' });
  input.end(pasted(headers.get('location') ?? ''));
  return { ...(await ended), partnerAccounts: (await status()).partnerAccounts };
};

it.each([
  ['as it is', (url: string) => `${url}\n`],
  ['between quotes, after an empty line', (url: string) => `\n  "${url}"\r\n`],
  ['without a newline', (url: string) => url],
])('connect --paste connects with the address that is pasted %s', async (_case, pasted) => {
  const { exitCode, stderr, partnerAccounts } = await paste(pasted);

  expect([exitCode, partnerAccounts.length]).toEqual([0, 1]);
  expect(stderr).not.toContain('code=');
});

it.each([
  ['nothing', () => ''],
  ['another address', () => 'https://example.org/?code=hunter2\n'],
  ['no address', () => 'hunter2\n'],
  ['one without the state', (url: string) => url.replace(/&state=.*/, '')],
])('connect --paste refuses a pasted text without repeating it: %s', async (_case, pasted) => {
  const { exitCode, stderr, partnerAccounts } = await paste(pasted);

  expect([exitCode, partnerAccounts]).toEqual([1, []]);
  expect(stderr).not.toContain('hunter2');
});

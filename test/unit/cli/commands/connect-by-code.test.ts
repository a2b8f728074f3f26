import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { stateFileIn } from '../../../../shared/sqlite/file/private-folder.ts';
import { openEmbeddedState } from '../../../../shared/sqlite/state.ts';
import { freePort } from '../../../helpers/free-port.ts';
import { newFolder } from '../run-cli.ts';
import { callback, rawStatus, startAuthorizing, visit } from './authorizing.ts';

describe('connect, when the user allows it', () => {
  it('shows the page when all is done, stores the pair and registers the feed', async () => {
    const { sandbox, connecting, status, dir } = await startAuthorizing();
    sandbox.control.setConsent({ mode: 'allow' });
    sandbox.control.createAdverts(2);

    const { asked, ended } = await connecting();
    const page = await visit(asked.url);

    expect(await ended).toMatchObject({ exitCode: 0, stdout: '' });
    expect((await ended).stderr).toContain('Connected main (scope v2 read write');
    expect((await ended).stderr).toContain('Its feed answers: 2 adverts have changed lately.');
    expect(page).toMatchObject({ status: 200, html: expect.stringContaining('main is connected') });
    expect((await status()).partnerAccounts).toMatchObject([{ name: 'main', state: 'polling' }]);
    const state = openEmbeddedState(dir);
    const [feed] = await state.feedStates.list();
    const served = sandbox.control.clock.now() - Date.parse(feed?.since ?? '');
    state.close();
    expect(Math.abs(served - 300_000)).toBeLessThan(60_000);
  });

  it('sends what the document asks for, and no more', async () => {
    const { sandbox, connecting } = await startAuthorizing();
    sandbox.control.setConsent({ mode: 'allow' });

    const { asked, ended } = await connecting();
    await visit(asked.url);
    await ended;

    expect(Object.fromEntries(new URL(asked.url).searchParams)).toEqual({
      client_id: 'sandbox-client',
      response_type: 'code',
      scope: 'v2 read write',
      state: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: asked.redirectUri,
    });
    const exchanged = sandbox.control.journal.list().filter(({ endpoint }) => endpoint === 'token');
    expect(exchanged).toMatchObject([{ grantType: 'authorization_code', status: 200 }]);
  });

  it('leaves the code in no address, no header and no word of its own', async () => {
    const { sandbox, connecting, dir } = await startAuthorizing();
    const { asked, ended } = await connecting(' --json');
    const code = sandbox.control.issueCode({ redirectUri: asked.redirectUri });

    const page = await visit(callback(asked, { code, state: asked.state }));

    const { stdout, stderr } = await ended;
    expect(page.url).toBe(`${asked.redirectUri}/result`);
    expect(page.html + stdout + stderr + JSON.stringify([...page.headers])).not.toContain(code);
    expect(JSON.parse(stdout)).toMatchObject({ isNew: true, feed: { kind: 'read' } });
    expect(readFileSync(stateFileIn(dir)).includes(code)).toBe(false);
  });

  it('gives a page that loads nothing and is kept nowhere', async () => {
    const { sandbox, connecting } = await startAuthorizing();
    sandbox.control.setConsent({ mode: 'allow' });

    const { asked } = await connecting();
    const { headers, html } = await visit(asked.url);

    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(html).not.toMatch(/https?:|<script|src=/);
  });

  it('keeps cursor and generation of a known name whose user it is, and gives back its dead letters', async () => {
    const { sandbox, connecting, connect, run, dir } = await startAuthorizing();
    await connect();
    sandbox.control.createAdverts(3);
    await run('run --until-idle');
    const before = await feedOf(dir);
    sandbox.control.setConsent({ mode: 'allow' });

    const { asked, ended } = await connecting();
    const page = await visit(asked.url);

    expect((await ended).stderr).toContain('Connected main again');
    expect(page.html).toContain('main is connected again');
    expect(await feedOf(dir)).toMatchObject({ cursor: before?.cursor, generation: before?.generation });
  });

  it('says with exit code 3 that it is connected but the feed does not answer', async () => {
    const { sandbox, connecting, status } = await startAuthorizing();
    sandbox.control.setConsent({ mode: 'allow' });
    sandbox.control.faults.add({ endpoint: 'feed', kind: 'status', status: 400 });

    const { asked, ended } = await connecting();
    const page = await visit(asked.url);

    expect(await ended).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('(invalid-request)') });
    expect(page).toMatchObject({ status: 200, html: expect.stringContaining('feed failed') });
    expect((await status()).partnerAccounts).toHaveLength(1);
  });

  it('comes back to another registered address on loopback, with a query of its own', async () => {
    const port = await freePort();
    const redirectUri = `http://127.0.0.1:${port}/back/here?via=bridge`;
    const { sandbox, connecting } = await startAuthorizing({
      callbackUrls: [`http://127.0.0.1:${port}/back`],
    });
    sandbox.control.setConsent({ mode: 'allow' });

    const { asked, ended } = await connecting(` --port ${port} --redirect-uri ${redirectUri}`);
    const page = await visit(asked.url);

    expect(asked.redirectUri).toBe(redirectUri);
    expect(page.status).toBe(200);
    expect(await ended).toMatchObject({ exitCode: 0 });
  });

  it('opens the browser by a page that only the user can read, or says that there is none', async () => {
    const { sandbox, connecting } = await startAuthorizing();
    sandbox.control.setConsent({ mode: 'allow' });
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

    const without = await connecting(' --open', { env: { PATH: newFolder() } });
    await visit(without.asked.url);
    expect((await without.ended).stderr).toContain('No browser could be opened here');
  });
});

describe('connect, when it cannot be', () => {
  it.each([
    ['the user denies it', { error: 'access_denied' }],
    ['it is refused with more than a code', { error: '<b>x</b>' }],
    ['no code comes', {}],
    ['the code is empty', { code: '' }],
    ['the code is none of the service', { code: 'hunter2' }],
  ])('says so on page and terminal, and stores nothing: %s', async (_case, parameters) => {
    const { connecting, status } = await startAuthorizing();

    const { asked, ended } = await connecting();
    const page = await visit(callback(asked, { state: asked.state, ...parameters }));

    const { exitCode, stdout, stderr } = await ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(page).toMatchObject({ status: 400, html: expect.stringContaining('main is not connected') });
    expect(page.html + stderr).not.toMatch(/hunter2|<b>/);
    expect((await status()).partnerAccounts).toEqual([]);
  });

  it('sends neither of two codes to the service', async () => {
    const { sandbox, connecting } = await startAuthorizing();

    const { asked, ended } = await connecting();
    await visit(`${asked.redirectUri}?state=${asked.state}&code=a&code=b`);

    expect((await ended).exitCode).toBe(1);
    expect(sandbox.control.journal.list().filter(({ endpoint }) => endpoint === 'token')).toEqual([]);
  });

  it('refuses another user under a known name, unless it is told that it is the same', async () => {
    const { sandbox, connecting, connect, run, dir } = await startAuthorizing({
      users: [{ name: 'main' }, { name: 'other' }],
    });
    await connect();
    sandbox.control.createAdverts(2, { user: 'main' });
    sandbox.control.createAdverts(2, { user: 'other' });
    await run('run --until-idle');
    const before = await vaultOf(dir);
    sandbox.control.setConsent({ mode: 'allow', user: 'other' });

    const refused = await connecting();
    const page = await visit(refused.asked.url);

    expect(await refused.ended).toMatchObject({ exitCode: 2 });
    expect((await refused.ended).stderr).toContain('another user authorized');
    expect((await refused.ended).stderr).toContain('--same-user');
    expect(page.html).toContain('nother user authorized');
    expect(await vaultOf(dir)).toBe(before);

    const forced = await connecting(' --same-user');
    await visit(forced.asked.url);
    expect(await forced.ended).toMatchObject({ exitCode: 0 });
    expect(await vaultOf(dir)).not.toBe(before);
  });

  it('ends when nobody comes in time', async () => {
    const { connecting } = await startAuthorizing();

    const { ended } = await connecting(' --timeout-seconds 1');

    expect(await ended).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('no answer came within 1 s. Nothing was stored'),
    });
  });

  it('ends when it is interrupted', async () => {
    const { connecting, status } = await startAuthorizing();
    const interrupt = new AbortController();

    const { asked, ended } = await connecting('', { signal: interrupt.signal });
    interrupt.abort();

    expect(await ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('interrupted before') });
    await expect(fetch(asked.redirectUri)).rejects.toThrow();
    expect((await status()).partnerAccounts).toEqual([]);
  });
});

describe('the listener, while it waits', () => {
  it('answers nothing but the callback, and goes on waiting', async () => {
    const { sandbox, connecting } = await startAuthorizing();
    sandbox.control.setConsent({ mode: 'allow' });
    const { asked, ended } = await connecting();
    const { origin, host } = new URL(asked.redirectUri);
    const good = callback(asked, { state: asked.state, code: 'hunter2' });

    expect((await visit(`${origin}/favicon.ico`)).status).toBe(404);
    expect((await visit(`${origin}/`)).status).toBe(404);
    expect((await visit(`${asked.redirectUri}/result`)).status).toBe(404);
    expect(await rawStatus(good, { host: 'evil.example' })).toBe(421);
    expect(await rawStatus(good, { host: `localhost:${host.split(':')[1]}` })).toBe(421);
    expect(await rawStatus(good, { method: 'POST' })).toBe(405);
    expect(await rawStatus(good, { method: 'HEAD' })).toBe(405);
    expect((await visit(good, { 'sec-fetch-dest': 'image' })).status).toBe(403);
    expect((await visit(good, { 'sec-purpose': 'prefetch' })).status).toBe(403);

    await visit(asked.url);
    expect(await ended).toMatchObject({ exitCode: 0 });
  });

  it.each([
    ['another state', () => `code=hunter2&state=${'x'.repeat(43)}`],
    ['an empty state', () => 'code=hunter2&state='],
    ['no state', () => 'code=hunter2'],
    ['no query', () => ''],
    ['the state twice', (state: string) => `state=${state}&state=${state}&code=hunter2`],
    ['the state and another', (state: string) => `state=${state}&state=x&code=hunter2`],
    ['the state in upper case', (state: string) => `state=${state.toUpperCase()}&code=hunter2`],
    ['a denial with another state', () => 'error=access_denied&state=x'],
    ['a denial without a state', () => 'error=access_denied'],
    ['a state too long', () => `code=hunter2&state=${'x'.repeat(8_000)}`],
  ])('refuses an answer with %s, says so once, and waits on', async (_case, query) => {
    const { sandbox, connecting } = await startAuthorizing();
    sandbox.control.setConsent({ mode: 'allow' });
    const { asked, ended } = await connecting();

    const page = await visit(`${asked.redirectUri}?${query(asked.state)}`);
    const again = await visit(`${asked.redirectUri}?${query(asked.state)}`);
    const good = await visit(asked.url);

    expect([page.status, again.status]).toEqual([400, 400]);
    expect(page.html).toContain('This answer does not belong to this request');
    expect(page.html).not.toContain('hunter2');
    expect(good).toMatchObject({ status: 200, html: expect.stringContaining('main is connected') });
    const { exitCode, stderr } = await ended;
    expect(exitCode).toBe(0);
    expect(stderr.split('its state is missing or different')).toHaveLength(2);
    expect(stderr).not.toContain('hunter2');
  });

  it('is not ended by a stranger while the answer is exchanged', async () => {
    const { sandbox, connecting } = await startAuthorizing();
    const { asked, ended } = await connecting();
    const code = sandbox.control.issueCode({ redirectUri: asked.redirectUri });
    await fetch(callback(asked, { state: asked.state, code }), { redirect: 'manual' });

    const late = await visit(callback(asked, { code: 'hunter2', state: 'x' }));
    const result = await visit(`${asked.redirectUri}/result`);

    expect(late.status).toBe(400);
    expect(result.html).toContain('main is connected');
    expect(await ended).toMatchObject({ exitCode: 0 });
  });

  it('takes the first callback alone', async () => {
    const { sandbox, connecting } = await startAuthorizing();
    const { asked, ended } = await connecting();
    const code = sandbox.control.issueCode({ redirectUri: asked.redirectUri });
    const first = await fetch(callback(asked, { state: asked.state, code }), { redirect: 'manual' });

    const second = await visit(callback(asked, { state: asked.state, code: 'hunter2' }));
    const result = await visit(`${asked.redirectUri}/result`);

    expect(first).toMatchObject({ status: 303 });
    expect(second).toMatchObject({ status: 409, html: expect.stringContaining('answered already') });
    expect(result.html).toContain('main is connected');
    expect(await ended).toMatchObject({ exitCode: 0 });
  });
});

describe('connect --paste', () => {
  const paste = async (pasted: (url: string) => string, more = '') => {
    const started = await startAuthorizing();
    const { sandbox, run } = started;
    sandbox.control.setConsent({ mode: 'allow' });
    const input = new PassThrough();
    let begun: Promise<void> | undefined;
    const ended = run(`connect main --paste${more}`, {
      input,
      onOutput: (text) => {
        const url = /^ {2}(http\S+)$/m.exec(text)?.[1];
        if (url === undefined) return;
        begun = fetch(url, { redirect: 'manual' }).then(({ headers }) => {
          input.end(pasted(headers.get('location') ?? ''));
        });
      },
    });
    const result = await ended;
    await begun;
    return { ...started, result };
  };

  it.each([
    ['as it is', (url: string) => `${url}\n`],
    ['between quotes, after an empty line', (url: string) => `\n  "${url}"\r\n`],
    ['without a newline', (url: string) => url],
  ])('connects with the address that is pasted %s', async (_case, pasted) => {
    const { result, status } = await paste(pasted);

    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.stderr).not.toContain('code=');
    expect((await status()).partnerAccounts).toHaveLength(1);
  });

  it.each([
    ['nothing', () => ''],
    ['another address', () => 'https://example.org/?code=hunter2\n'],
    ['no address', () => 'hunter2\n'],
    ['one without the state', (url: string) => url.replace(/&state=.*/, '')],
  ])('refuses what is pasted, and does not repeat it: %s', async (_case, pasted) => {
    const { result, status } = await paste(pasted);

    expect(result.exitCode).toBe(1);
    expect(result.stderr).not.toContain('hunter2');
    expect((await status()).partnerAccounts).toEqual([]);
  });

  it('ends when nobody pastes in time', async () => {
    const { run } = await startAuthorizing();

    const ended = await run('connect main --paste --timeout-seconds 1', { input: new PassThrough() });

    expect(ended).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('no answer came within 1 s'),
    });
  });
});

async function feedOf(dir: string) {
  const state = openEmbeddedState(dir);
  try {
    return (await state.feedStates.list())[0];
  } finally {
    state.close();
  }
}

async function vaultOf(dir: string): Promise<string | undefined> {
  const state = openEmbeddedState(dir);
  try {
    return (await state.vault.read('main'))?.pair.refreshToken.reveal();
  } finally {
    state.close();
  }
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import { functionLogs } from '../emulator/logs.ts';
import type { Processes } from '../emulator/processes.ts';
import type { Deployment } from '../stack/deployment.ts';
import { deliver } from './delivery.ts';

const timeoutMs = 90_000;

/** The authorization-code flow on the stack, with a user who consents and a `fetch` that acts as the browser. */
export async function authorizeSteps(
  deployment: Deployment,
  { env, processes }: { readonly env: Record<string, string>; readonly processes: Processes },
): Promise<void> {
  const { steps, cloud, sandbox, advertBridge } = deployment;
  const { control } = sandbox;
  const advert = control.truth()[1]?.id ?? '';

  const codes: string[] = [];
  /** Does what a browser does, and records the code on the way. */
  async function visit(url: string): Promise<Response> {
    const { headers } = await fetch(url, { redirect: 'manual' });
    const location = headers.get('location') ?? '';
    const code = new URL(location).searchParams.get('code');
    if (code !== null) codes.push(code);
    return fetch(location);
  }

  /** @returns the command's output, and the page at the end of all redirects */
  async function authorize(name: string) {
    const pages: Promise<Response>[] = [];
    let said = '';
    const onOutput = (text: string): void => {
      said += text;
      const url = /^ {2}(http\S+)\n[\s\S]*Waiting/m.exec(said)?.[1];
      if (url !== undefined && pages.length === 0) pages.push(visit(url));
    };
    const args = [join(repository, 'cli', 'main.ts'), 'connect', name, '--port', '0'];
    const command = { file: process.execPath, args, env, cwd: repository };
    const finished = await processes.run(command, { timeoutMs, onOutput });
    const page = await pages[0];
    return { ...finished, page: { status: page?.status, url: page?.url, html: await page?.text() } };
  }

  await steps.check('a user who denies leaves the partner account as it was', async () => {
    control.setConsent({ mode: 'deny' });
    const before = await advertBridge.status();
    const { code, page } = await authorize('main');
    assert.equal(code, 1);
    assert.equal(page.status, 400);
    const after = await advertBridge.status();
    assert.equal(after.partnerAccounts[0]?.tokenExpiresAt, before.partnerAccounts[0]?.tokenExpiresAt);
  });

  await steps.check(
    'connected again by the authorization-code flow, events go on from the kept cursor',
    async () => {
      control.setConsent({ mode: 'allow' });
      control.revoke();
      const [before] = (await advertBridge.status()).partnerAccounts;
      const { code, stderr, page } = await authorize('main');
      assert.equal(code, 0, stderr);
      assert.equal(page.status, 200);
      assert.ok(page.html?.includes('main is connected again'), page.html);
      control.setStatus(advert, 'active');
      await deliver(deployment, 1);
      const [account] = (await advertBridge.status()).partnerAccounts;
      assert.equal(account?.state, 'polling');
      assert.equal(account?.generation, before?.generation);
    },
  );

  await steps.check('the one-time code is in no log line', async () => {
    assert.equal(codes.length, 1);
    const lines = [...(await functionLogs(cloud.endpoint)).values()].flat();
    assert.ok(lines.length > 0, 'the functions log');
    for (const code of codes)
      assert.ok(!lines.some((line) => line.includes(code)), 'a code is in a log line');
  });
}

import { expect, it, onTestFinished } from 'vitest';
import { createBreaks } from '../../../../../operators/cli/run/break-it.ts';
import { startSandbox } from '../../../../../sandbox/server.ts';

async function started() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  let pid: number | undefined = 1;
  let refreshToken = sandbox.users[0]?.refreshToken;
  const breaks = createBreaks({
    sandbox,
    run: {
      pid: () => pid,
      start: () => {
        pid = 2;
      },
      end: async () => {
        pid = undefined;
      },
    },
    reconnect: async () => {
      refreshToken = sandbox.control.issueRefreshToken('main');
    },
    commands: { reconnect: 'connect again', run: 'run again' },
  });
  const { clientId, clientSecret } = sandbox.application;
  const status = async () => {
    const body = JSON.stringify({
      ...{ grant_type: 'refresh_token', refresh_token: refreshToken },
      ...{ client_id: clientId, client_secret: clientSecret },
    });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${sandbox.url}/api/open/oauth/token`, { method: 'POST', headers, body })).status;
  };
  const find = (name: string) => breaks.list().find((one) => one.name === name);
  return { breaks, status, find };
}

it.each([
  ['Service down', 503],
  ['Too many requests (429)', 429],
  ['Address blocked (403)', 403],
  ['User revokes', 400],
])('after %s the service answers %i until the button is pressed again', async (name, expected) => {
  const { breaks, status, find } = await started();
  expect(await status()).toBe(200);
  await breaks.toggle(name);
  expect([await status(), find(name)?.isOn]).toEqual([expected, true]);
  await breaks.toggle(name);
  expect([await status(), find(name)?.isOn]).toEqual([200, false]);
});

it('what its own command has broken is shown as broken', async () => {
  const { breaks, find } = await started();
  const [, body] = find('Service down')?.command.match(/'(.*)'/) ?? [];
  await fetch(find('Service down')?.command.split(' ').at(-1) ?? '', { method: 'POST', body: body ?? '' });
  expect(breaks.list().filter(({ isOn }) => isOn)).toMatchObject([{ name: 'Service down' }]);
});

it('the shown command does what the next press does', async () => {
  const { breaks, find } = await started();
  const shown = () => ['User revokes', 'Process killed'].map((name) => find(name)?.command);
  expect(shown()).toEqual([expect.stringContaining('curl -d'), 'kill -9 1']);
  for (const name of ['User revokes', 'Process killed']) await breaks.toggle(name);
  expect(shown()).toEqual(['connect again', 'run again']);
  await breaks.toggle('Process killed');
  expect(find('Process killed')?.command).toBe('kill -9 2');
});

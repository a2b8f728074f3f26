import { afterEach, describe, expect, it } from 'vitest';
import { createBreaks } from '../../../../cli/run/break-it.ts';
import { type Sandbox, startSandbox } from '../../../../sandbox/server.ts';

let sandbox: Sandbox | undefined;
afterEach(() => sandbox?.close());

async function started() {
  sandbox = await startSandbox();
  const { url } = sandbox;
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
      refreshToken = sandbox?.control.issueRefreshToken('main');
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
    return (await fetch(`${url}/api/open/oauth/token`, { method: 'POST', headers, body })).status;
  };
  return { breaks, status };
}

const isOn = ({ list }: Pick<Awaited<ReturnType<typeof started>>['breaks'], 'list'>, name: string) =>
  list().find((one) => one.name === name)?.isOn;

describe('what the demo breaks', () => {
  it.each([
    ['Service down', 503],
    ['Too many requests (429)', 429],
    ['Address blocked (403)', 403],
    ['User revokes', 400],
  ])('%s: the service answers %i until it is pressed again', async (name, expected) => {
    const { breaks, status } = await started();
    expect(await status()).toBe(200);
    await breaks.toggle(name);
    expect([await status(), isOn(breaks, name)]).toEqual([expected, true]);
    await breaks.toggle(name);
    expect([await status(), isOn(breaks, name)]).toEqual([200, false]);
  });

  it('kills the process, and starts it again', async () => {
    const { breaks } = await started();
    await breaks.toggle('Process killed');
    expect(isOn(breaks, 'Process killed')).toBe(true);
    await breaks.toggle('Process killed');
    expect(isOn(breaks, 'Process killed')).toBe(false);
  });

  it('shows the command that does what the next press does', async () => {
    const { breaks } = await started();
    const commandOf = (name: string) => breaks.list().find((one) => one.name === name)?.command;
    const commands = ['User revokes', 'Process killed'].map(commandOf);
    await breaks.toggle('User revokes');
    await breaks.toggle('Process killed');
    expect([...commands, commandOf('User revokes'), commandOf('Process killed')]).toEqual([
      expect.stringContaining('curl -d'),
      'kill -9 1',
      'connect again',
      'run again',
    ]);
  });
});

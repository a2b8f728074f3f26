import { expect, it } from 'vitest';
import { withBridge } from '../../../../../../operators/cli/bridge/open.ts';
import { localTarget } from '../../../../../../operators/cli/shared/target.ts';
import { startLocal } from '../../local-bridge.ts';

const quick = '--max-requests-per-second 10000 --confirm-unavailable-seconds 0';

async function startConnected() {
  const local = await startLocal({ users: [{ name: 'main' }, { name: 'other' }] });
  await local.application();
  await local.connect('main');
  await local.connect('other');
  return local;
}

/** Runs a command until `stop` is called. */
function watched(local: Awaited<ReturnType<typeof startConnected>>, args: string) {
  const stopping = new AbortController();
  let output = '';
  const ended = local.run(args, {
    signal: stopping.signal,
    onOutput: (text) => {
      output += text;
    },
  });
  const stop = () => {
    stopping.abort();
    return ended;
  };
  return { output: () => output, stop };
}

it('tail shows what a run publishes, and of one account when asked', async () => {
  const local = await startConnected();
  local.sandbox.control.createAdverts(1, { user: 'main', status: 'before-it-began' });
  await local.run(`run --until-idle ${quick}`);
  const all = watched(local, 'tail');
  const ofOther = watched(local, 'tail other');
  await expect.poll(() => all.output() + ofOther.output()).toMatch(/No bridge runs[\s\S]*No bridge runs/);

  const run = watched(local, `run --poll-seconds 1 ${quick}`);
  local.sandbox.control.createAdverts(3, { user: 'main', status: 'new' });
  local.sandbox.control.createAdverts(2, { user: 'other', status: 'new' });
  await expect.poll(() => run.output().match(/"new"/g)?.length, { timeout: 15_000 }).toBe(5);
  await expect.poll(() => all.output().match(/"new"/g)?.length, { timeout: 15_000 }).toBe(5);
  await expect.poll(() => ofOther.output().match(/"new"/g)?.length, { timeout: 15_000 }).toBe(2);

  const published = (await run.stop()).stdout;
  const shown = await all.stop();
  expect(shown).toMatchObject({ exitCode: 0, stdout: published });
  const { exitCode, stdout } = await ofOther.stop();
  expect(exitCode).toBe(0);
  expect(stdout).not.toContain('"partnerAccount":"main"');
}, 60_000);

it('tail says nothing of missed events when its log was empty at first', async () => {
  const { dir } = await startConnected();
  await withBridge(localTarget(dir), async (bridge) => {
    const said: string[] = [];
    const say = (text: string) => void said.push(text);
    const events = bridge.events(undefined, { signal: new AbortController().signal, say, recent: 10 });

    const next = events.next();
    await bridge.state.eventLog.append('{}');

    expect([(await next).value, said]).toEqual([['{}'], []]);
  });
});

import { describe, expect, it } from 'vitest';
import { openEmbeddedState } from '../../../../shared/sqlite/state.ts';
import { changedAdvert } from '../../../helpers/records.ts';
import { startConnected } from '../local-bridge.ts';

async function startAsked() {
  const local = await startConnected();
  const history = async (id: string | undefined) =>
    JSON.parse((await local.run(`history main ${id} --json`)).stdout);
  const create = (status: string) => local.sandbox.control.createAdverts(1, { status })[0] as string;
  return { ...local, create, history };
}

describe('history of an embedded bridge', () => {
  it('shows the latest event whole, and answers in its last line', async () => {
    const { create, runUntilIdle, run } = await startAsked();
    const id = create('active');
    const { stdout } = await runUntilIdle();

    const text = await run(`history main ${id}`);
    const json = await run(`history main ${id} --json`);

    expect(text).toMatchObject({ exitCode: 0, stderr: '' });
    expect(text.stdout.trimEnd().split('\n').at(-1)).toMatch(/^Event 1 of advert .* was published/);
    expect(JSON.parse(json.stdout)).toEqual({
      partnerAccount: 'main',
      advertId: id,
      latest: JSON.parse(stdout),
      latestPublished: true,
      waiting: [],
      deadLetters: [],
      facts: expect.any(Array),
      outcome: 'published',
      answer: expect.stringContaining('was published'),
    });
  });

  it('says which setting of the latest run kept an event off', async () => {
    const { create, runUntilIdle, history } = await startAsked();
    const id = create('new');
    const { stdout } = await runUntilIdle(' --publish-statuses active,sold');

    expect(stdout).toBe('');
    expect(await history(id)).toMatchObject({
      outcome: 'kept-off',
      latestPublished: false,
      latest: { detail: { data: { status: 'new' } } },
      answer: expect.stringContaining('publishStatuses (active, sold)'),
    });
  });

  it('tells what waits, and for what', async () => {
    const { dir, history, run } = await startAsked();
    const state = openEmbeddedState(dir);
    const { generation = 0 } = (await state.partnerAccounts.read('main')) ?? {};
    await state.queue.send([changedAdvert({ advertId: '7', generation, correlationId: 'page-1' })]);
    state.close();

    expect(await history('7')).toMatchObject({
      latest: null,
      latestPublished: null,
      waiting: [{ place: 'queue', key: 'page-1:7', correlationId: 'page-1', receives: 0, until: null }],
      outcome: 'waits-in-queue',
    });
    await run('disconnect main');
    expect((await history('7')).answer).toMatch(
      /waits in the queue because partner account main is stopped \(disconnected\)/,
    );
  });
});

import { expect, it } from 'vitest';
import { startConnected } from '../local-bridge.ts';

const run =
  'run --until-idle --max-requests-per-second 10000 --confirm-unavailable-seconds 0 --confirm-unchanged-seconds 0';

/** A bridge on which every advert of the service was published, one of them wrong. */
async function startPublished() {
  const local = await startConnected();
  const { control } = local.sandbox;
  await local.run('backfill main');
  await local.run(run);
  const [{ id = '' } = {}] = control.truth();
  const published = control.truth()[0]?.status;
  control.faults.add({
    ...{ kind: 'status', status: 200, endpoint: 'advert', advertId: id, count: 1 },
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data: { id: Number(id), status: published } }),
  });
  control.setStatus(id, 'archived');
  await local.run(run);
  return { ...local, id, published, total: control.truth().length };
}

it('audit waits for a bridge and then reports what differed', async () => {
  const { run: cli, id, published, total } = await startPublished();

  const waits = await cli('audit main --full');
  const { stdout } = await cli(run);
  const done = await cli('audit main --full --json');
  const again = await cli('audit main --full');

  expect(waits.exitCode).toBe(3);
  expect(waits.stderr).toContain(`advert-bridge run`);
  expect(JSON.parse(stdout)).toMatchObject({
    detail: { metadata: { cause: 'audit' }, data: { advertId: id, status: 'archived' } },
  });
  expect(done).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(done.stdout)).toEqual({
    ...{ partnerAccount: 'main', checked: total, equal: total - 1, neverPublished: [] },
    differing: [{ advertId: id, published, actual: 'archived' }],
  });
  expect(again.exitCode).toBe(3);
});

it('audit takes the adverts of a file while the bridge runs', async () => {
  const { run: cli, id, published } = await startPublished();
  const stop = new AbortController();
  const running = cli('run --max-requests-per-second 10000', { signal: stop.signal });

  const { exitCode, stdout } = await cli('audit main --ids -', { stdin: `${id}\n` });
  stop.abort();
  await running;

  expect(stdout).toMatch(new RegExp(`^ADVERT ID .*\n${id} +${published} +archived\n1 advert audited: .*\n$`));
  expect(exitCode).toBe(0);
});

it('audit is refused for two sources at once and for an unknown name', async () => {
  const { run: cli } = await startConnected();

  expect(await cli('audit main --full --sample 3')).toMatchObject({ exitCode: 2 });
  expect(await cli('audit other')).toMatchObject({ exitCode: 2 });
});

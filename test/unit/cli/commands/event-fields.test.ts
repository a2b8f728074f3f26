import { expect, it } from 'vitest';
import { startLocal } from '../local-bridge.ts';

const quick = '--until-idle --max-requests-per-second 10000 --confirm-unavailable-seconds 0';

it('run --event-fields --publish-statuses: what an event says, and which are published', async () => {
  const { sandbox, application, connect, run } = await startLocal();
  await application();
  await connect();
  const [first = '', second = ''] = sandbox.control.createAdverts(2);
  sandbox.control.setStatus(first, 'sold');

  const ended = await run(`run ${quick} --event-fields title,price,missing --publish-statuses sold`);

  expect(ended.exitCode).toBe(0);
  const events = ended.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).detail.data);
  expect(events).toEqual([
    {
      advertId: first,
      status: 'sold',
      previousStatus: null,
      fields: { title: `Advert ${first}`, price: expect.any(Number) },
    },
  ]);
  expect(second).not.toBe('');
});

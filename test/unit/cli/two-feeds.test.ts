import { describe, expect, it } from 'vitest';
import { startLocal } from './local-bridge.ts';

interface Event {
  readonly 'detail-type': string;
  readonly resources: readonly string[];
  readonly detail: { readonly metadata: { readonly eventId: string }; readonly data: object };
}

const both = '--feeds adverts,orders';

async function connected() {
  const local = await startLocal();
  await local.application();
  await local.connect();
  const run = async (more = '') => {
    const ended = await local.run(`run --until-idle --confirm-unavailable-seconds 0 ${more}`.trim());
    const lines = ended.stdout.split('\n').filter(Boolean);
    return { ...ended, events: lines.map((line): Event => JSON.parse(line)) };
  };
  const { control } = local.sandbox;
  return {
    ...local,
    local: local.run,
    run,
    control,
    feedRequests: () => control.journal.list().filter(({ endpoint }) => endpoint === 'order-feed'),
  };
}

const told = (events: readonly Event[]) =>
  events.map(({ 'detail-type': type, resources: [resource], detail: { metadata, data } }) => ({
    type,
    resource,
    place: metadata.eventId.split('/').slice(2).join('/'),
    ...data,
  }));

describe('a second feed', () => {
  it('is not asked for until it is switched on', async () => {
    const { run, control, feedRequests } = await connected();
    control.setOrder('1001', 'paid');

    expect(await run()).toMatchObject({ exitCode: 0, events: [] });
    expect(feedRequests()).toEqual([]);
  });

  it('begins for an account that is connected already, with histories of its own where the IDs are the same', async () => {
    const { run, control } = await connected();
    control.setStatus('1001', 'active');
    await run();

    control.setOrder('1001', 'new');
    control.setStatus('1001', 'sold');
    const first = await run(both);
    control.setOrder('1001', 'paid');
    const second = await run(both);
    control.setOrder('1001', null);
    const third = await run(both);

    expect([first.exitCode, second.exitCode, third.exitCode]).toEqual([0, 0, 0]);
    const order = { resource: 'advert-bridge/main/order/1001', orderId: '1001' };
    expect(told(first.events).sort((a, b) => (a.type < b.type ? -1 : 1))).toEqual([
      {
        type: 'AdvertStatusChanged',
        resource: 'advert-bridge/main/advert/1001',
        place: '1001/2',
        ...{ advertId: '1001', status: 'sold', previousStatus: 'active' },
      },
      { type: 'OrderStatusChanged', ...order, place: 'order-1001/1', status: 'new', previousStatus: null },
    ]);
    expect(told(second.events)).toEqual([
      { type: 'OrderStatusChanged', ...order, place: 'order-1001/2', status: 'paid', previousStatus: 'new' },
    ]);
    expect(told(third.events)).toEqual([
      { type: 'OrderUnavailable', ...order, place: 'order-1001/3', status: null, previousStatus: 'paid' },
    ]);
  });

  it('is told of in status, and read again by resync --feed', async () => {
    const { run, local, control, status } = await connected();
    await run(both);
    control.setOrder('1001', 'new');
    const { stderr } = await run(both);
    expect(stderr).toContain('1 events');

    const [account] = (await status()).partnerAccounts;
    expect(account).toMatchObject({ needsPerson: false, books: { events: 0 } });
    const again = await local('resync main --feed orders --since 2026-01-01T00:00:00Z');
    expect(again).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('1 orders are fetched again'),
    });
    expect(account.feeds).toMatchObject([
      { feed: 'orders', needsPerson: false, reason: null, books: { listed: 1, events: 1, inFlight: 0 } },
    ]);
  });

  it('has histories that history tells from those of adverts with the same ID', async () => {
    const { run, local, control } = await connected();
    control.setStatus('1001', 'active');
    await run(both);
    control.setOrder('1001', 'new');
    control.setOrder('1001', 'paid');
    await run(both);

    const ofOrder = await local('history main 1001 --feed orders');
    const ofAdvert = await local('history main 1001');

    expect(ofOrder).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ofOrder.stdout).toMatch(/^order 1001 of partner account main\n/);
    expect(ofOrder.stdout).toMatch(/\nEvent 1 of order 1001 \(paid\), .* nothing of the order waits, /);
    expect(ofAdvert.stdout).toMatch(/\nEvent 1 of advert 1001 \(active\), .* nothing of the advert waits, /);
    const { stdout } = await local('history main 1001 --feed orders --json');
    expect(JSON.parse(stdout)).toMatchObject({
      feed: 'orders',
      latest: { 'detail-type': 'OrderStatusChanged' },
    });
    expect(await local('history main 1001 --feed invoices')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('expected adverts or orders'),
    });
  });

  it('switched off keeps its place', async () => {
    const { run, control } = await connected();
    await run(both);
    control.setOrder('1001', 'new');
    expect((await run()).events).toEqual([]);

    expect(told((await run(both)).events)).toMatchObject([{ place: 'order-1001/1', status: 'new' }]);
  });

  it.each([
    [
      'needs a scope that the token lacks',
      { kind: 'status', status: 403, body: { error: 'insufficient_scope' } } as const,
    ],
    ['is not there', { kind: 'html', status: 404 } as const],
  ])('that %s leaves adverts alone', async (_what, action) => {
    const { run, control, status } = await connected();
    await run();
    control.faults.add({ endpoint: 'order-feed', ...action });
    control.setStatus('1001', 'active');

    const { events, exitCode } = await run(both);

    expect(told(events)).toMatchObject([{ type: 'AdvertStatusChanged', advertId: '1001' }]);
    expect(exitCode).not.toBe(0);
    const { partnerAccounts, circuit } = await status();
    expect(partnerAccounts).toMatchObject([{ name: 'main', state: 'polling' }]);
    expect(circuit).toBe(false);
  });
});

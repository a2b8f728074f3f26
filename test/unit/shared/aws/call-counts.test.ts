/**
 * The deployed bridge's requests to AWS and to the partner service, counted on the wire. The figures are what it costs
 * (docs/contribute/performance.md): when one of them rises, so does the bill.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Invocations, startAws } from '../../../helpers/aws/played-aws.ts';

const clock = await vi.hoisted(async () => {
  const { createSleptClock } = await import('../../../helpers/aws/slept-clock.ts');
  return createSleptClock();
});
vi.mock('../../../../shared/domain/clock.ts', async (original) => ({
  ...(await original<object>()),
  systemClock: clock,
}));

const minuteMs = 60_000;

const perCall = ({ calls }: Invocations) =>
  Object.fromEntries(Object.entries(calls).map(([name, { calls }]) => [name, calls]));
const units = ({ calls }: Invocations) => ({
  read: Object.values(calls).reduce((sum, { readUnits }) => sum + readUnits, 0),
  write: Object.values(calls).reduce((sum, { writeUnits }) => sum + writeUnits, 0),
});

describe.each([
  [1, 300],
  [3, 100],
])('with %i partner accounts and %i changes', (partnerAccounts, changes) => {
  let aws: Awaited<ReturnType<typeof startAws>>;
  let drained: Invocations;
  let fannedOut: Invocations;
  let idle: Invocations;
  let swept: Invocations;
  /** Requests to the partner service by endpoint: of the changes, of fifty adverts that changed ten times each, and of a poll that finds none. */
  const asked: Record<'changes' | 'repeated' | 'idle', Record<string, number>> = {
    changes: {},
    repeated: {},
    idle: {},
  };

  function requestsOf(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { endpoint } of aws.sandbox.control.journal.list()) {
      counts[`${endpoint}`] = (counts[`${endpoint}`] ?? 0) + 1;
    }
    aws.sandbox.control.journal.clear();
    return counts;
  }

  beforeAll(async () => {
    vi.resetModules();
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    aws = await startAws({
      partnerAccounts,
      setEnvironment: (variables) => {
        for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      },
    });
    const { control } = aws.sandbox;
    // Everything is known by now: tokens, the budget, rows of the adverts.
    const ids = control.createAdverts(changes, { status: 'new' });
    await aws.invoke('drain');
    await aws.fanOut();
    clock.pass(minuteMs);
    await aws.invoke('drain');
    for (const id of ids) control.setStatus(id, 'active');
    requestsOf();

    clock.pass(minuteMs);
    drained = await aws.invoke('drain');
    fannedOut = await aws.fanOut();
    asked.changes = requestsOf();
    for (let round = 0; round < 10; round += 1) {
      for (const id of ids.slice(0, 30)) control.setStatus(id, round % 2 === 0 ? 'active' : 'sold');
    }
    clock.pass(minuteMs);
    await aws.invoke('drain');
    await aws.fanOut();
    asked.repeated = requestsOf();
    clock.pass(minuteMs);
    // The fan-out has changed the rate budget in the meantime: the first poll must detect that.
    await aws.invoke('drain');
    requestsOf();
    clock.pass(minuteMs);
    idle = await aws.invoke('drain');
    asked.idle = requestsOf();
    swept = await aws.invoke('refresh-token');
  }, 60_000);
  afterAll(() => aws.stop());

  it('a page costs one request for ten adverts, and one write for its cursor', () => {
    expect(perCall(drained)).toEqual({
      'dynamodb Query': 4,
      // Lease and cursor of each feed, the lease given back with its last page; a slot for each feed; the counts of the answers.
      'dynamodb GetItem': partnerAccounts + 2,
      'dynamodb PutItem': 2 * partnerAccounts + 2,
      'sqs GetQueueAttributes': 1,
      'sqs SendMessageBatch': changes / 10,
    });
  });

  it('a change costs one read and two writes, and a tenth of everything else', () => {
    const batches = changes / 10;
    const {
      'events PutEvents': putEvents,
      'dynamodb GetItem': reads = 0,
      'dynamodb PutItem': puts = 0,
      ...calls
    } = perCall(fannedOut);
    expect(calls).toEqual({
      'sqs ReceiveMessage': batches + 1,
      'sqs DeleteMessageBatch': batches,
      // The books.
      'dynamodb UpdateItem': batches,
    });
    // Two for each event (it is written, and accepted by the bus), and slots of the rate budget.
    // In the test's clock a slot passes while the account's row is read again.
    expect(puts).toBeGreaterThanOrEqual(2 * changes + batches);
    // Every ten seconds, in which there are two batches at least, the counts of the answers.
    expect(puts).toBeLessThanOrEqual(2 * changes + 3 * batches + batches / 2);
    // The histories; two a batch of the rate budget, for a pause and for slots; every five seconds at most two for the row
    // of the partner account, which fan-out and token source share.
    expect(reads).toBeGreaterThan(changes + 2 * batches);
    expect(reads).toBeLessThanOrEqual(changes + 2 * batches + 3 * (batches / 5) + batches / 2);
    expect(units(fannedOut)).toEqual({
      read: reads,
      write: puts + batches,
    });
    // Paid by the event, not by the call.
    expect(fannedOut.calls['events PutEvents']?.billed).toBe(changes);
    expect(putEvents).toBeLessThanOrEqual(changes);
  });

  it('a poll that finds nothing costs a read and two writes a feed', () => {
    expect(perCall(idle)).toEqual({
      // Partner accounts, feeds, messages on hold, dead letters.
      'dynamodb Query': 4,
      // The rate budget, and the counts of the answers.
      'dynamodb GetItem': partnerAccounts + 2,
      'dynamodb PutItem': 2 * partnerAccounts + 2,
      'sqs GetQueueAttributes': 1,
    });
    expect(asked.idle).toEqual({ feed: partnerAccounts });
  });

  it('a look at tokens that are good costs one read', () => {
    expect(perCall(swept)).toEqual({ 'dynamodb Query': 1 });
  });

  it('a change costs the service one request, and a page one', () => {
    // The other partner accounts' feeds are asked too, in vain.
    expect(asked.changes).toEqual({ advert: changes, feed: partnerAccounts });
  });

  it('adverts that a page lists ten times are fetched once', () => {
    expect(asked.repeated).toEqual({ advert: 30, feed: partnerAccounts });
  });
});

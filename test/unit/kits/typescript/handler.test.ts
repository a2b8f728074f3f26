import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import * as fc from 'fast-check';
import { beforeEach, expect, it, vi } from 'vitest';
import {
  AdvertBusyError,
  type AdvertEvent,
  advertEventHandler,
  applyIfNewer,
  BatchFailedError,
  ClaimLostError,
  createDynamoDbPositions,
  type Delivery,
  type EventHandlerOptions,
  type Failure,
  newerCondition,
  RefusedEventError,
  sendToDeadLetters,
} from '../../../../kits/typescript/index.ts';
import {
  aLambdaEvent,
  anAdvertHistory,
  anAdvertStatusChanged,
  anAdvertUnavailable,
  anSqsRecord,
  aPartnerAuthorizationRequired,
  createInMemoryPositions,
  latestStatuses,
  playEvents,
} from '../../../../kits/typescript/testing/index.ts';

const nth = (sequence: number, more: object = {}) => anAdvertStatusChanged({ sequence, ...more });
const other = (sequence: number) => nth(sequence, { advertId: '9' });
const named = ({ detail: { metadata } }: Delivery['event']) => metadata.eventId.split('/').slice(2).join('/');
/** Fails as DynamoDB does for a role without the permission. */
const denied = () =>
  Promise.reject(Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' }));
const claimByOther = (until: number) => ({
  ...{ position: { generation: 1, sequence: 1 }, owner: 'other', until },
});
const tick = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A subscriber to all detail types, whose function is `apply`. It notes in `seen` what was applied, and in `skipped`
 * what was not.
 */
function subscriber(
  options: Partial<EventHandlerOptions> = {},
  apply: (delivery: Delivery) => unknown = () => {},
) {
  const seen: string[] = [];
  const skipped: string[] = [];
  const each = async (_: unknown, delivery: Delivery) => {
    await apply(delivery);
    seen.push(`${named(delivery.event)}${delivery.missing ? ` after ${delivery.missing} missing` : ''}`);
  };
  const lambda = advertEventHandler({
    positions: createInMemoryPositions(),
    on: {
      ...{ AdvertStatusChanged: each, AdvertUnavailable: each },
      ...{ PartnerAuthorizationRequired: each, PartnerAuthorizationRestored: each },
    },
    onSkipped: (event, reason) => skipped.push(`${named(event)} ${reason}`),
    ...options,
  });
  /** @returns the numbers of the messages that go back to the queue, counted from 1 */
  async function deliver(...events: readonly unknown[]): Promise<number[]> {
    const { batchItemFailures } = await lambda(aLambdaEvent(events), {
      getRemainingTimeInMillis: () => 30_000,
    });
    return batchItemFailures
      .map(({ itemIdentifier }) => Number(itemIdentifier.replace('message-', '')))
      .sort();
  }
  return { lambda, deliver, seen, skipped };
}

let printed: string[];
beforeEach(() => {
  printed = [];
  for (const method of ['error', 'warn'] as const) {
    vi.spyOn(console, method).mockImplementation((line) => void printed.push(line));
  }
});

it('new events apply in order; stale ones and duplicates are skipped', async () => {
  const { deliver, seen, skipped } = subscriber();

  expect(await deliver(nth(2), nth(1), nth(2), nth(5), aPartnerAuthorizationRequired())).toEqual([]);
  expect(await deliver(nth(4), nth(5), anAdvertUnavailable({ sequence: 6 }))).toEqual([]);

  const expected = ['123/1', '123/2', '123/5 after 2 missing', '123/6', 'authorization-required/1'];
  expect(seen.sort()).toEqual(expected);
  expect(skipped).toEqual(['123/2 duplicate', '123/4 stale', '123/5 duplicate']);
  expect(printed).toEqual([]);
});

it('everything is applied when the positions are in the own write', async () => {
  const { deliver, seen } = subscriber({ positions: 'own-write' });

  await deliver(nth(3), nth(2));
  await deliver(nth(2));

  expect(seen).toEqual(['123/2', '123/3', '123/2']);
});

it('a FIFO queue keeps each group in order and holds up that group alone', async () => {
  const broken = (delivery: Delivery) => {
    if (named(delivery.event) === '123/2') throw new Error('no price');
  };
  const { lambda, seen } = subscriber({ onError: () => {} }, broken);
  const required = aPartnerAuthorizationRequired();
  const Records = [
    ...(
      [
        [nth(1), 'a'],
        [nth(2), 'a'],
        [other(2), 'b'],
        [nth(3), 'a'],
        // Neither an event of the advert nor an event may pass what failed before it in its group.
        [required, 'a'],
        ['nonsense', 'a'],
        ['nonsense', 'c'],
        [required, 'c'],
        // The order of the queue counts: a redrive may bring an older event.
        [other(1), 'b'],
      ] as const
    ).map(([event, group], index) => anSqsRecord(event, `message-${index + 1}`, group)),
  ];
  const { batchItemFailures } = await lambda({ Records });
  expect(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier).sort()).toEqual(
    [2, 4, 5, 6, 7, 8].map((number) => `message-${number}`),
  );
  expect(seen.sort()).toEqual(['123/1', '9/2']);
});

it('one event is taken when the function itself is the target of a rule', async () => {
  const { lambda, seen } = subscriber();

  await lambda(nth(4));
  const wrong = [{ hello: 'world' }, undefined, {}, { Records: 'x' }, { Records: [null] }];
  for (const input of wrong) await expect(lambda(input)).rejects.toThrow(RefusedEventError);

  expect(seen).toEqual(['123/4']);
});

it.each<[string, EventHandlerOptions['onRefused'], number[], number]>([
  ['goes back to the queue without onRefused', undefined, [1, 2], 2],
  ['is done once onRefused has it', async () => {}, [], 0],
  ['goes back to the queue when onRefused fails', denied, [1, 2], 2],
])('a record that is not an event %s', async (_, onRefused, expected, lines) => {
  const { deliver, seen } = subscriber(onRefused && { onRefused });

  expect(await deliver('nonsense', nth(1, { schemaVersion: '2.0' }), nth(1))).toEqual(expected);

  expect(seen).toEqual(['123/1']);
  expect(printed.filter((line) => /message-[12] is refused/.test(line))).toHaveLength(lines);
});

it('the groups of a fair queue have no order, and hold up nobody', async () => {
  const broken = (delivery: Delivery) => {
    if (named(delivery.event) === '123/1') throw new Error('no price');
  };
  const { lambda, seen } = subscriber({ onError: () => {} }, broken);
  const Records = [nth(1), other(2), other(1)].map((event, index) => ({
    ...anSqsRecord(event, `message-${index + 1}`, 'main'),
    eventSourceARN: 'arn:aws:sqs:eu-central-1:111122223333:adverts',
  }));

  expect(await lambda({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: 'message-1' }] });
  expect(seen).toEqual(['9/1', '9/2']);
});

it('a refused record of a FIFO queue is not named after a later event', async () => {
  const { lambda } = subscriber();
  const Records = ['nonsense', nth(1)].map((event, index) => anSqsRecord(event, `message-${index + 1}`, 'a'));

  await expect(lambda({ Records })).rejects.toThrow();

  expect(printed).toEqual([
    expect.stringMatching(/message-1 is refused.* those that wait for it: message-2/),
  ]);
});

it('a record without a body is returned, and the others are handled', async () => {
  const { lambda, seen } = subscriber();
  const Records = [{ messageId: 'bare' }, ...aLambdaEvent([nth(1)]).Records];

  expect(await lambda({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: 'bare' }] });

  expect(seen).toEqual(['123/1']);
});

it('events of an advert claimed by another are returned until it expires', async () => {
  let now = 0;
  const positions = createInMemoryPositions();
  await positions.claim('main/123', claimByOther(500), 0);
  const { lambda, deliver, seen } = subscriber({ positions, now: () => now, busyWaitMs: 0 });

  expect(await deliver(nth(1), other(1))).toEqual([1]);
  expect(printed).toEqual([expect.stringMatching(/message-1 .+ AdvertBusyError/)]);
  expect(console.warn).toHaveBeenCalledOnce();
  await expect(lambda(nth(1))).rejects.toThrow(AdvertBusyError);
  now = 500;
  expect(await deliver(nth(1))).toEqual([]);

  expect(seen).toEqual(['9/1', '123/1']);
});

it('a claim that is about to be released is waited for', async () => {
  const positions = createInMemoryPositions();
  await positions.claim('main/123', claimByOther(Date.now() + 60_000), Date.now());
  setTimeout(() => void positions.release('main/123', 'other'), 60);

  expect(await subscriber({ positions }).deliver(nth(1))).toEqual([]);
});

it('nothing more is applied when the claims have expired', async () => {
  let now = 1_000;
  // The process is frozen in the middle of an event, and continues after its invocation has ended.
  const { deliver, seen } = subscriber({ now: () => now, maxConcurrentAdverts: 1 }, () => {
    now += 36_000;
  });

  expect(await deliver(nth(1), nth(2), other(1))).toEqual([2, 3]);

  expect(seen).toEqual(['123/1']);
  expect(printed).toEqual(Array(2).fill(expect.stringContaining('ClaimLostError')));
});

it('a claim outlives an early timeout of middy while a write may happen', async () => {
  const positions = createInMemoryPositions();
  const writing = Promise.withResolvers<void>();
  const lambda = middy({ timeoutEarlyInMillis: 1, timeoutEarlyResponse: () => 'early' }).handler(
    advertEventHandler({ positions, on: { AdvertStatusChanged: () => writing.promise } }),
  );
  const ending = { getRemainingTimeInMillis: () => 20 } as Context;

  expect(await lambda(aLambdaEvent([nth(1)]), ending)).toBe('early');
  expect(await subscriber({ positions, busyWaitMs: 0 }).deliver(nth(2))).toEqual([1]);
  writing.resolve();
});

it('only the failed event and later ones of its advert are returned', async () => {
  const broken = new Set(['123/2', 'authorization-required/1']);
  const { deliver, seen } = subscriber({}, ({ event }) => {
    if (broken.has(named(event))) throw new TypeError('no price');
  });
  const events = [nth(3), nth(1), nth(2), other(1), other(2), aPartnerAuthorizationRequired()];

  expect(await deliver(...events)).toEqual([1, 3, 6]);
  expect(seen.sort()).toEqual(['123/1', '9/1', '9/2']);
  expect(printed.join('\n')).toMatch(
    /message-3 .+123\/2\).+TypeError: no price\. It is .+ if .+ has ReportBatchItemFailures.+ message-1/,
  );

  broken.clear();
  expect(await deliver(...events)).toEqual([]);
  expect(seen.slice(3).sort()).toEqual(['123/2', '123/3', 'authorization-required/1']);
});

it('an event without a function counts as applied, with one warning', async () => {
  const { deliver, seen, skipped } = subscriber({ on: { PartnerAuthorizationRestored: () => {} } });

  await deliver(nth(5), nth(4));
  await deliver(nth(4));

  expect([seen, skipped]).toEqual([[], ['123/4 no-handler', '123/5 no-handler', '123/4 stale']]);
  expect(printed).toEqual([expect.stringMatching(/^advert-bridge: AdvertStatusChanged events arrive/)]);
});

it('two bridges with one name that send events cause one warning', async () => {
  const { deliver } = subscriber();
  const from = (account: string | undefined, sequence: number, bridge = 'AdvertBridge') => ({
    ...nth(sequence, { bridge }),
    account,
  });

  await deliver(from(undefined, 1), from('111111111111', 2), from('222222222222', 1, 'Shop'));
  expect(printed).toEqual([]);
  await deliver(from('222222222222', 3), from('222222222222', 4));

  expect(printed).toEqual([
    expect.stringMatching(/two bridges named AdvertBridge .+ 111111111111\/.+ 222222222222\//),
  ]);
});

const positionsWith = (more: object) => ({ positions: { ...createInMemoryPositions(), ...more } });
it.each<[string, Partial<EventHandlerOptions>, unknown[]]>([
  ['the position store fails', positionsWith({ claim: denied }), [nth(1), nth(2), other(1)]],
  ['no position can be stored', positionsWith({ confirm: denied }), [nth(1), nth(2), other(1)]],
  ['no record is an event', {}, ['one', 'two', 'three']],
  ['the function throws', { positions: 'own-write', onSkipped: denied }, [nth(7), nth(8), nth(9)]],
])('the handler throws when every record fails: %s', async (why, options, events) => {
  const { deliver } = subscriber(options, why === 'the function throws' ? denied : undefined);

  const delivered = deliver(...events);

  await expect(delivered).rejects.toThrow(BatchFailedError);
  await expect(delivered).rejects.toThrow(/^all 3 records of the batch failed: \w+: not a/);
});

it('the error names the message when the position store fails', async () => {
  const { claim, ...store } = createInMemoryPositions();
  const positions = {
    ...store,
    claim: (...[key, ...more]: Parameters<typeof claim>) =>
      key === 'main/123' ? denied() : claim(key, ...more),
  };

  expect(await subscriber({ positions }).deliver(nth(1), other(1))).toEqual([1]);
  expect(printed).toEqual([
    expect.stringMatching(/message-1 .+123\/1\).+AccessDeniedException: .+dynamodb:UpdateItem/),
  ]);
});

it('each failure is reported to onError, which may itself fail', async () => {
  const failures: Failure[] = [];
  const onError = (failure: Failure) => {
    failures.push(failure);
    throw new Error('no metrics');
  };
  const { deliver } = subscriber(
    { ...positionsWith({ release: denied }), onRefused: denied, onError },
    ({ event }) => (named(event) === '123/1' ? denied() : undefined),
  );

  expect(await deliver('nonsense', nth(1), other(1))).toEqual([1, 2]);

  expect(failures).toMatchObject([
    { stage: 'dead-letter', events: [], messageIds: ['message-1'] },
    { stage: 'handler', events: [nth(1)], messageIds: ['message-2'] },
  ]);
  expect(printed[0]).toContain('onError threw Error: no metrics');
});

it('control characters are escaped in what is printed', async () => {
  const event = nth(1);
  event.detail.metadata.eventId = 'main/1\u001b[2J\u202e\ufff9\nforged';

  await subscriber({}, denied)
    .deliver(event, other(1))
    .catch(() => {});

  expect(printed.join()).toContain('main/1\\u{1b}[2J\\u{202e}\\u{fff9}\\u{a}forged');
});

it('at most maxConcurrentAdverts adverts apply at once, each in order', async () => {
  const events = ['1', '2', '3', '4'].flatMap((advertId) => anAdvertHistory(['a', 'b', 'c'], { advertId }));
  let open = 0;
  let most = 0;
  const { deliver, seen } = subscriber({ maxConcurrentAdverts: 2 }, async () => {
    most = Math.max(most, ++open);
    await tick();
    open -= 1;
  });

  await deliver(...events);

  expect(most).toBe(2);
  expect(seen.toSorted((a, b) => Number(a[0]) - Number(b[0]))).toEqual(events.map((event) => named(event)));
});

const histories = [
  ...anAdvertHistory(['new', 'active', 'sold', null, 'active'], { advertId: '1' }),
  ...anAdvertHistory(['new', null], { advertId: '2' }),
  ...anAdvertHistory(['active', 'expired', 'active', 'expired'], { advertId: '3' }),
];
it.each([
  ['one after the other', 1],
  ['to workers at once', 3],
])('the latest statuses win whatever is repeated and fails, %s', async (_, workers) => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.array(fc.nat(3), { maxLength: 20 }), async (seed, crashes) => {
      const table = new Map<string, string | null>();
      let runs = 0;
      const { deliver } = subscriber({}, async ({ event }) => {
        const { metadata, data } = event.detail as AdvertEvent['detail'];
        if (workers > 1) await tick();
        table.set(`${metadata.partnerAccount}/${data.advertId}`, data.status);
        // After the work, before anything is remembered.
        if (crashes[runs++] === 0) throw new Error('crash');
      });
      const batches = playEvents(histories, { seed });
      const work = async () => {
        for (let batch = batches.shift(); batch; batch = batches.shift()) {
          const failed = await deliver(...batch).catch(() => [...(batch ?? []).keys()].map((n) => n + 1));
          const again = batch.filter((_event, index) => failed.includes(index + 1));
          if (again.length > 0) batches.push(again);
        }
      };
      await Promise.all(Array.from({ length: workers }, work));
      expect(table).toEqual(latestStatuses(histories));
    }),
    { numRuns: 50 },
  );
});

const given = (value: object) => value as never;
const wrong = { positions: { claim: 1 }, on: { AdvertSold: () => {} }, onEror: 'log' };
it.each([
  ['a handler', () => advertEventHandler(given(wrong)), /positions: [\s\S]+on: [\s\S]+mean onError/],
  ['no function', () => advertEventHandler({ positions: 'own-write', on: {} }), /on: /],
  ['a condition', () => newerCondition(nth(1), given({ marshaled: true })), /marshalled/],
  ['a player', () => playEvents([], given({ seed: '1', batchSize: 0 })), /seed[\s\S]+batchSize/],
  ['a fixture', () => anAdvertStatusChanged(given({ advertID: '7' })), /advertId/],
  [
    'positions',
    () => createDynamoDbPositions(given({ dynamodb: {}, tableName: undefined })),
    /dynamodb[\s\S]+tableName/,
  ],
  ['a queue', () => sendToDeadLetters(given({ sqs: {}, queueUrl: '' })), /sqs[\s\S]+queueUrl/],
])('wrong options of %s are named together', (_, make, names) => {
  expect(make).toThrow(names);
});

it.each([-1, 0, Number.NaN, 1.5])('wrong options of a claim are named: %s ms', async (leaseMs) => {
  const options = { positions: createInMemoryPositions(), leaseMs };

  await expect(applyIfNewer(nth(1), options, () => {})).rejects.toThrow('leaseMs: expected a whole number');
});

it('applyIfNewer throws the error of applying and releases its claim', async () => {
  const positions = createInMemoryPositions();

  const stuck = { positions: { ...positions, release: () => Promise.reject(new Error('throttled')) } };
  await expect(applyIfNewer(other(1), stuck, denied)).rejects.toThrow('not authorized');
  await expect(applyIfNewer(nth(1), { positions }, denied)).rejects.toThrow('not authorized');
  expect(await applyIfNewer(nth(1), { positions }, () => {})).toEqual({ outcome: 'apply', missing: 0 });
  const overtaken = { positions: { ...positions, confirm: async () => false } };
  await expect(applyIfNewer(nth(2), overtaken, () => {})).rejects.toThrow(ClaimLostError);
});

it('sendToDeadLetters sends the unchanged body with the reason', async () => {
  const sent: unknown[] = [];
  const sqs = { sendMessage: async (input: unknown) => sent.push(input) };
  const send = sendToDeadLetters({ sqs, queueUrl: 'https://queue' });

  await send({ error: new RefusedEventError('not-an-event', 'no JSON'), body: 'nonsense', messageId: 'm' });

  const errorCode = { DataType: 'String', StringValue: 'not-an-event' };
  const MessageAttributes = { errorCode, errorMessage: { DataType: 'String', StringValue: 'no JSON' } };
  expect(sent).toEqual([{ QueueUrl: 'https://queue', MessageBody: 'nonsense', MessageAttributes }]);

  const toFifo = sendToDeadLetters({ sqs, queueUrl: 'https://queue.fifo' });
  await toFifo({ error: new RefusedEventError('not-an-event', 'no JSON'), body: '', messageId: 'm' });
  expect(sent.at(-1)).toMatchObject({ MessageGroupId: 'refused', MessageDeduplicationId: 'm' });
});

import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  AdvertBusyError,
  type AdvertEvent,
  advertEventHandler,
  applyIfNewer,
  type BatchAnswer,
  BatchFailedError,
  createDynamoDbPositions,
  type Delivery,
  type EventHandlerOptions,
  type Failure,
  newerCondition,
  type PositionStore,
  type Refusal,
  RefusedEventError,
  sendToDeadLetters,
} from '../../../subscriber/index.ts';
import {
  aLambdaEvent,
  anAdvertHistory,
  anAdvertStatusChanged,
  anAdvertUnavailable,
  aPartnerAuthorizationRequired,
  createInMemoryPositions,
  latestStatuses,
  playEvents,
} from '../../../subscriber/testing/index.ts';

const context = { getRemainingTimeInMillis: () => 30_000 } as Context;
/** A handler with one function for every detail type. */
const lambdaOf = (options: Omit<EventHandlerOptions, 'on'>, apply: (delivery: Delivery) => unknown) => {
  const each = (_event: unknown, delivery: Delivery) => apply(delivery);
  const on: EventHandlerOptions['on'] = {
    AdvertStatusChanged: each,
    AdvertUnavailable: each,
    PartnerAuthorizationRequired: each,
    PartnerAuthorizationRestored: each,
  };
  const lambda = advertEventHandler({ ...options, on });
  return (event: unknown) => lambda(event, context);
};

const failed = (...ids: string[]) => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
});
const nth = (sequence: number, more: object = {}) => anAdvertStatusChanged({ sequence, ...more });
const noted = ({ event, outcome, missing }: Delivery) =>
  `${event.detail.metadata.eventId.split('/').at(-1)} ${outcome}${missing ? ` ${missing}` : ''}`;
/** Fails as DynamoDB does for a role without the permission. */
const denied = () =>
  Promise.reject(Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' }));

let printed: unknown[][];
beforeEach(() => {
  printed = [];
  for (const method of ['error', 'warn'] as const) {
    vi.spyOn(console, method).mockImplementation((...line) => void printed.push(line));
  }
});

describe('advertEventHandler', () => {
  /** A subscriber that notes what it applied. */
  function subscriber(options: Partial<EventHandlerOptions> = {}) {
    const positions = options.positions ?? createInMemoryPositions();
    const seen: string[] = [];
    const lambda = lambdaOf({ positions, ...options }, (delivery) => seen.push(noted(delivery)));
    return { lambda, seen };
  }

  it('applies new events in order, and returns none', async () => {
    const { lambda, seen } = subscriber();

    expect(await lambda(aLambdaEvent([nth(2), nth(1), nth(2), nth(5)]))).toEqual(failed());

    expect(seen).toEqual(['1 apply', '2 apply', '5 gap 2']);
    expect(printed).toEqual([]);
  });

  it('skips what was applied before, and reports it', async () => {
    const skipped: string[] = [];
    const { lambda, seen } = subscriber({
      onSkipped: ({ detail }, outcome) =>
        skipped.push(`${detail.metadata.eventId.split('/').at(-1)} ${outcome}`),
    });
    await lambda(aLambdaEvent([nth(3)]));

    expect(await lambda(aLambdaEvent([nth(2), nth(3), nth(4)]))).toEqual(failed());

    expect(seen).toEqual(['3 apply', '4 apply']);
    expect(skipped).toEqual(['2 stale', '3 duplicate']);
  });

  it('keeps two bridges with the same partner account apart', async () => {
    const { lambda, seen } = subscriber();
    const ofShop = nth(1, { bridge: 'Shop', generation: 1_700_000_000 });

    await lambda(aLambdaEvent([nth(5)]));
    await lambda(aLambdaEvent([ofShop, nth(4)]));

    expect(seen).toEqual(['5 apply', '1 apply']);
  });

  it('accepts the event of a rule whose target is the function', async () => {
    const { lambda, seen } = subscriber();

    await lambda(anAdvertUnavailable({ sequence: 4 }));

    expect(seen).toEqual(['4 apply']);
  });

  it('applies authorization events, which have no history', async () => {
    const { lambda, seen } = subscriber();

    expect(await lambda(aLambdaEvent([aPartnerAuthorizationRequired()]))).toEqual(failed());

    expect(seen).toEqual(['1 apply']);
  });

  it.each([
    ['returns to the queue without onRefused', undefined, failed('message-1', 'message-2')],
    ['is done once onRefused has it', async () => {}, failed()],
    ['returns to the queue when onRefused fails', denied, failed('message-1', 'message-2')],
  ])('a body that is not an event %s', async (_, handOver, expected) => {
    const refusals: Refusal[] = [];
    const onRefused = async (refusal: Refusal) => {
      refusals.push(refusal);
      await handOver?.();
    };
    const { lambda, seen } = subscriber(handOver ? { onRefused } : {});

    const answer = await lambda(aLambdaEvent(['nonsense', nth(1, { schemaVersion: '2.0' }), nth(1)]));

    expect(answer).toEqual(expected);
    expect(seen).toEqual(['1 apply']);
    if (handOver)
      expect(refusals).toMatchObject([
        { body: 'nonsense', messageId: 'message-1', error: { code: 'not-an-event' } },
        { messageId: 'message-2', error: { code: 'unsupported-version' } },
      ]);
    expect(printed.flat().filter((line) => /message-1 is refused/.test(String(line)))).toHaveLength(
      handOver === undefined || handOver === denied ? 1 : 0,
    );
  });

  it('returns a record without a body, and handles the others', async () => {
    const { lambda, seen } = subscriber();
    const { Records } = aLambdaEvent([nth(1), nth(2)]);

    expect(await lambda({ Records: [{ messageId: 'message-9' }, ...Records] })).toEqual(failed('message-9'));

    expect(seen).toEqual(['1 apply', '2 apply']);
  });

  it.each([{ hello: 'world' }, undefined, {}, { Records: 'x' }, { Records: [null] }])(
    'fails when a rule calls it with %j',
    async (input) => {
      const { lambda } = subscriber();

      await expect(lambda(input)).rejects.toThrow(RefusedEventError);
    },
  );

  it('returns the events of an advert that another worker has claimed, until the claim expires', async () => {
    let now = 0;
    const positions = createInMemoryPositions();
    // A worker that died: it claimed the advert and did no more.
    await positions.claim(
      'main/123',
      { position: { generation: 1, sequence: 1 }, owner: 'dead', until: 500 },
      0,
    );
    const { lambda, seen } = subscriber({ positions, now: () => now, busyWaitMs: 0 });

    expect(await lambda(aLambdaEvent([nth(1), nth(1, { advertId: '9' })]))).toEqual(failed('message-1'));
    expect(printed).toEqual([[expect.stringMatching(/message-1 .+ AdvertBusyError/)]]);
    expect(console.warn).toHaveBeenCalledOnce();
    await expect(lambda(nth(1))).rejects.toThrow(AdvertBusyError);
    now = 500;
    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());

    expect(seen).toHaveLength(2);
  });

  it('applies nothing more when its claim has expired', async () => {
    let now = 1_000;
    const positions = createInMemoryPositions();
    const seen: string[] = [];
    const lambda = lambdaOf({ positions, now: () => now, maxConcurrentAdverts: 1 }, (delivery) => {
      seen.push(noted(delivery));
      // The process was frozen in the middle of the first event, and continues after its claim has expired.
      now += 36_000;
    });

    await expect(lambda(aLambdaEvent([nth(1), nth(2), nth(1, { advertId: '9' })]))).resolves.toEqual(
      failed('message-2'),
    );

    expect(seen).toEqual(['1 apply', '1 apply']);
    expect(printed).toEqual([[expect.stringContaining('ClaimLostError')]]);
  });

  it('keeps its claim after an early timeout of middy, while the function may still write', async () => {
    const positions = createInMemoryPositions();
    const writing = Promise.withResolvers<void>();
    const lambda = middy({ timeoutEarlyInMillis: 1, timeoutEarlyResponse: () => 'early' }).handler(
      advertEventHandler({ positions, busyWaitMs: 0, on: { AdvertStatusChanged: () => writing.promise } }),
    );
    const ending = { getRemainingTimeInMillis: () => 20 } as Context;

    expect(await lambda(aLambdaEvent([nth(1)]), ending)).toBe('early');
    expect(await subscriber({ positions, busyWaitMs: 0 }).lambda(aLambdaEvent([nth(2)]))).toEqual(
      failed('message-1'),
    );
    writing.resolve();
  });

  it('escapes control characters in the IDs that it prints', async () => {
    const event = anAdvertStatusChanged();
    const eventId = 'main/1\u001b[2J\u202e\ufff9\nforged';
    const hostile = {
      ...event,
      detail: { ...event.detail, metadata: { ...event.detail.metadata, eventId } },
    };
    const lambda = lambdaOf({ positions: createInMemoryPositions() }, denied);

    await lambda(aLambdaEvent([hostile, aPartnerAuthorizationRequired()])).catch(() => {});

    const [line] = printed
      .flat()
      .map(String)
      .filter((text) => text.includes('forged'));
    expect(line).toContain('main/1\\u{1b}[2J\\u{202e}\\u{fff9}\\u{a}forged');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there.
    expect(line).not.toMatch(/[\u0000-\u001f\u202e]/);
  });

  it('warns once when two bridges with one name send events', async () => {
    const { lambda } = subscriber();
    const from = (account: string, sequence: number, bridge?: string) => ({
      ...nth(sequence, { bridge: bridge ?? 'AdvertBridge' }),
      account,
    });

    await lambda(
      aLambdaEvent([
        { ...nth(1, { advertId: '9' }), account: undefined },
        from('111111111111', 1),
        from('222222222222', 1, 'Shop'),
      ]),
    );
    expect(printed).toEqual([]);
    await lambda(aLambdaEvent([from('222222222222', 2), from('222222222222', 3)]));

    expect(printed).toEqual([
      [expect.stringMatching(/two bridges named AdvertBridge .+ 111111111111\/.+ 222222222222\//)],
    ]);
  });

  it('waits for a claim that is about to be released, and returns nothing', async () => {
    const positions = createInMemoryPositions();
    const claim = { position: { generation: 1, sequence: 1 }, owner: 'other', until: Date.now() + 60_000 };
    await positions.claim('main/123', claim, Date.now());
    setTimeout(() => void positions.release('main/123', 'other'), 60);
    const { lambda, seen } = subscriber({ positions });

    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());

    expect(seen).toEqual(['1 apply']);
  });

  it('returns an event whose position could not be stored', async () => {
    const inner = createInMemoryPositions();
    const positions: PositionStore = { ...inner, confirm: () => Promise.reject(new Error('throttled')) };
    const { lambda } = subscriber({ positions });

    await expect(lambda(aLambdaEvent(['nonsense', nth(1)]))).rejects.toThrow(BatchFailedError);
    await expect(lambda(nth(1, { advertId: '9' }))).rejects.toThrow('throttled');
  });

  it.each<[string, Partial<EventHandlerOptions>, unknown[]]>([
    [
      'the position store fails',
      { positions: { ...createInMemoryPositions(), claim: denied } },
      [nth(1), nth(2), nth(1, { advertId: '9' })],
    ],
    ['no record is an event', {}, ['one', 'two', 'three']],
    ['the function throws', { positions: 'own-write', onSkipped: denied }, [nth(7), nth(8), nth(9)]],
  ])('throws when every record fails: %s', async (_why, options, events) => {
    const lambda = lambdaOf({ positions: createInMemoryPositions(), ...options }, denied);

    const call = lambda(aLambdaEvent(events));

    await expect(call).rejects.toThrow(BatchFailedError);
    await expect(call).rejects.toThrow(/^all 3 records of the batch failed: \w+: not a/);
  });

  it('names the message for which the position store failed, and continues with other adverts', async () => {
    const { claim, ...inner } = createInMemoryPositions();
    const positions: PositionStore = {
      ...inner,
      claim: (key, ...more) => (key === 'main/123' ? denied() : claim(key, ...more)),
    };
    const { lambda, seen } = subscriber({ positions });

    expect(await lambda(aLambdaEvent([nth(1), nth(1, { advertId: '9' })]))).toEqual(failed('message-1'));

    expect(seen).toEqual(['1 apply']);
    expect(printed).toEqual([
      [expect.stringMatching(/message-1 .+123\/1\): AccessDeniedException: .+dynamodb:UpdateItem/)],
    ]);
  });

  it('reports to onError instead, which may itself fail', async () => {
    const failures: Failure[] = [];
    const { lambda } = subscriber({
      onRefused: denied,
      onError: (failure) => {
        failures.push(failure);
        throw new Error('no metrics');
      },
    });

    expect(await lambda(aLambdaEvent(['nonsense', nth(1)]))).toEqual(failed('message-1'));

    expect(failures).toEqual([
      { stage: 'dead-letter', error: expect.any(Error), events: [], messageIds: ['message-1'] },
    ]);
    expect(printed).toEqual([[expect.stringContaining('onError threw Error: no metrics')]]);
  });

  it('applies everything when the positions are in the own write', async () => {
    const { lambda, seen } = subscriber({ positions: 'own-write' });

    await lambda(aLambdaEvent([nth(3), nth(2)]));
    await lambda(aLambdaEvent([nth(2)]));

    expect(seen).toEqual(['2 apply', '3 apply', '2 apply']);
  });

  it('ends with the latest status of every advert, whatever order and repeats arrive', async () => {
    const histories = [
      ...anAdvertHistory(['new', 'active', 'sold', null, 'active'], { advertId: '1' }),
      ...anAdvertHistory(['new', null], { advertId: '2' }),
      ...anAdvertHistory(['active', 'expired', 'active', 'expired'], { advertId: '3' }),
    ];
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(fc.nat(3), { maxLength: 20 }), async (seed, crashes) => {
        const table = new Map<string, string | null>();
        let runs = 0;
        const lambda = lambdaOf({ positions: createInMemoryPositions() }, ({ event }) => {
          const { metadata, data } = event.detail as AdvertEvent['detail'];
          table.set(`${metadata.partnerAccount}/${data.advertId}`, data.status);
          // After the work, before anything is remembered.
          if (crashes[runs++] === 0) throw new Error('crash');
        });
        const batches = playEvents(histories, { seed });
        while (batches.length > 0) {
          const batch = batches.shift() as AdvertEvent[];
          const { Records } = aLambdaEvent(batch);
          const all = failed(...Records.map(({ messageId }) => messageId));
          const answer = (await lambda({ Records }).catch(() => all)) as BatchAnswer;
          const ids = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
          // Failed messages come back after the others, as from a queue.
          const again = batch.filter((_, index) => ids.has(`message-${index + 1}`));
          if (again.length > 0) batches.push(again);
        }
        expect(table).toEqual(latestStatuses(histories));
      }),
    );
  });

  it.each([1, 2, 3])(
    'ends with the latest statuses when workers get batches at once, seed %i',
    async (seed) => {
      const histories = [
        ...anAdvertHistory(['new', 'active', 'sold', null, 'active', 'sold'], { advertId: '1' }),
        ...anAdvertHistory(['new', null, 'active'], { advertId: '2' }),
      ];
      const table = new Map<string, string | null>();
      const lambda = lambdaOf({ positions: createInMemoryPositions() }, async ({ event }) => {
        const { metadata, data } = event.detail as AdvertEvent['detail'];
        await new Promise((resolve) => setImmediate(resolve));
        table.set(`${metadata.partnerAccount}/${data.advertId}`, data.status);
      });

      const answers = await Promise.all(
        playEvents(histories, { seed, batchSize: 3 }).map((batch) => lambda(aLambdaEvent(batch))),
      );

      expect(answers).toEqual(answers.map(() => failed()));
      expect(table).toEqual(latestStatuses(histories));
    },
  );
});

describe('advertEventHandler, per advert', () => {
  const poisoned = (options: Partial<EventHandlerOptions> = {}) => {
    const seen: string[] = [];
    const broken = new Set(['123/2']);
    const lambda = advertEventHandler({
      positions: createInMemoryPositions(),
      on: {
        AdvertStatusChanged: async ({ detail: { metadata, data } }) => {
          const name = `${data.advertId}/${metadata.sequence}`;
          if (broken.has(name)) throw new TypeError('no price');
          seen.push(name);
        },
      },
      ...options,
    });
    return { lambda, seen, broken };
  };
  const batch = aLambdaEvent([nth(3), nth(1), nth(2), nth(1, { advertId: '9' }), nth(2, { advertId: '9' })]);

  it('returns the event that failed and later ones of its advert only', async () => {
    const { lambda, seen, broken } = poisoned();

    expect(await lambda(batch, context)).toEqual(failed('message-3', 'message-1'));
    expect(seen.sort()).toEqual(['123/1', '9/1', '9/2']);

    broken.clear();
    expect(await lambda(batch, context)).toEqual(failed());
    expect(seen.slice(3)).toEqual(['123/2', '123/3']);
  });

  it('names the message that failed and those that wait for it', async () => {
    await poisoned().lambda(batch);

    expect(printed).toEqual([
      [expect.stringMatching(/message-3 .+123\/2\): TypeError: no price.+ message-1/), expect.any(TypeError)],
    ]);
  });

  it('isolates authorization events too', async () => {
    const { lambda, seen } = poisoned({
      on: {
        PartnerAuthorizationRequired: () => {
          throw new Error('pager is down');
        },
        AdvertStatusChanged: () => seen.push('applied'),
      },
    });

    expect(await lambda(aLambdaEvent([aPartnerAuthorizationRequired(), nth(1)]))).toEqual(
      failed('message-1'),
    );
    expect(seen).toEqual(['applied']);
  });

  it('counts an event without a function as applied, and reports it', async () => {
    const skipped: unknown[] = [];
    const { lambda, seen } = poisoned({
      onSkipped: ({ 'detail-type': type }, why) => skipped.push([type, why]),
    });

    await lambda(aLambdaEvent([anAdvertUnavailable({ sequence: 5 })]));
    await lambda(aLambdaEvent([nth(4), nth(6)]));

    await lambda(aLambdaEvent([anAdvertUnavailable({ sequence: 7 })]));

    expect(skipped).toEqual([
      ['AdvertUnavailable', 'no-handler'],
      ['AdvertStatusChanged', 'stale'],
      ['AdvertUnavailable', 'no-handler'],
    ]);
    expect(seen).toEqual(['123/6']);
    expect(printed).toEqual([
      [expect.stringMatching(/^advert-bridge: AdvertUnavailable events arrive, and there is no/)],
    ]);
  });

  it('applies events of maxConcurrentAdverts adverts at once, those of one in order', async () => {
    const events = ['1', '2', '3', '4'].flatMap((advertId) => anAdvertHistory(['a', 'b', 'c'], { advertId }));
    let open = 0;
    let most = 0;
    const inOrder: Record<string, string> = {};
    const lambda = advertEventHandler({
      positions: createInMemoryPositions(),
      maxConcurrentAdverts: 2,
      on: {
        AdvertStatusChanged: async ({ detail: { data } }) => {
          most = Math.max(most, ++open);
          await new Promise((resolve) => setImmediate(resolve));
          inOrder[data.advertId] = `${inOrder[data.advertId] ?? ''}${data.status}`;
          open -= 1;
        },
      },
    });

    await lambda(aLambdaEvent(events));

    expect(most).toBe(2);
    expect(Object.values(inOrder)).toEqual(['abc', 'abc', 'abc', 'abc']);
  });

  it('reports a claim that could not be released', async () => {
    const stages: string[] = [];
    const { lambda } = poisoned({
      positions: { ...createInMemoryPositions(), release: denied },
      onError: ({ stage }) => stages.push(stage),
    });

    expect(await lambda(aLambdaEvent([nth(2), nth(1, { advertId: '9' })]))).toEqual(failed('message-1'));
    expect(stages).toEqual(['handler', 'positions']);
  });

  it('types the event by its detail type', () => {
    advertEventHandler({
      positions: 'own-write',
      on: {
        // Compiles only when the detail type decides the shape.
        AdvertStatusChanged: ({ detail }) => detail.data.status.length,
        AdvertUnavailable: ({ detail }): null => detail.data.status,
        PartnerAuthorizationRequired: ({ detail }) => detail.data.reason.length,
      },
    });
  });
});

describe('options', () => {
  const made = (make: () => unknown): string => {
    try {
      make();
    } catch (error) {
      return (error as TypeError).message;
    }
    return '';
  };
  const anything = (value: unknown) => value as never;

  const wrong = { positions: { claim: 1 }, on: { AdvertSold: () => {} }, onEror: 'log' };
  it.each([
    ['a handler', () => advertEventHandler(anything(wrong)), /positions: [\s\S]+on: [\s\S]+mean onError/],
    ['no options', () => advertEventHandler(anything(undefined)), /positions/],
    ['no function', () => advertEventHandler({ positions: 'own-write', on: {} }), /on/],
    ['a condition', () => newerCondition(nth(1), anything({ marshaled: true })), /marshalled/],
    ['a player', () => playEvents([], anything({ seed: '1', batchSize: 0 })), /seed[\s\S]+batchSize/],
    ['a fixture', () => anAdvertStatusChanged(anything({ advertID: '7' })), /advertId/],
    [
      'positions without a table',
      () => createDynamoDbPositions({ dynamodb: anything({}), tableName: undefined }),
      /dynamodb[\s\S]+tableName/,
    ],
    ['a queue', () => sendToDeadLetters({ sqs: anything({}), queueUrl: '' }), /sqs[\s\S]+queueUrl/],
  ])('of %s are checked together, and named', (_, make, names) => {
    expect(made(make)).toMatch(names);
  });

  it.each([-1, 0, Number.NaN, 1.5])('reject a claim of %s ms', async (leaseMs) => {
    const options = { positions: createInMemoryPositions(), leaseMs };

    await expect(applyIfNewer(nth(1), options, () => {})).rejects.toThrow(
      'leaseMs: expected a whole number from 1',
    );
  });
});

describe('applyIfNewer', () => {
  it('releases its claim when applying fails', async () => {
    const options = { positions: createInMemoryPositions() };

    await expect(applyIfNewer(nth(1), options, denied)).rejects.toThrow('not authorized');
    expect(await applyIfNewer(nth(1), options, () => {})).toEqual({ outcome: 'apply', missing: 0 });
  });

  it('throws the error of applying when the claim cannot be released either', async () => {
    const positions = { ...createInMemoryPositions(), release: () => Promise.reject(new Error('throttled')) };

    await expect(applyIfNewer(nth(1), { positions }, denied)).rejects.toThrow('not authorized');
  });
});

describe('sendToDeadLetters', () => {
  it('sends the unchanged body with the reason', async () => {
    const sent: unknown[] = [];
    const send = sendToDeadLetters({
      sqs: { sendMessage: async (input) => sent.push(input) },
      queueUrl: 'https://queue',
    });

    await send({
      error: new RefusedEventError('not-an-event', 'not an event of the advert bridge: expected JSON'),
      body: 'nonsense',
      messageId: 'm',
    });

    expect(sent).toEqual([
      {
        QueueUrl: 'https://queue',
        MessageBody: 'nonsense',
        MessageAttributes: {
          errorCode: { DataType: 'String', StringValue: 'not-an-event' },
          errorMessage: {
            DataType: 'String',
            StringValue: 'not an event of the advert bridge: expected JSON',
          },
        },
      },
    ]);
  });
});

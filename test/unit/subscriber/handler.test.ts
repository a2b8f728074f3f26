import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type AdvertBatch,
  AdvertBusyError,
  type AdvertEvent,
  advertBatchHandler,
  advertBatchMiddleware,
  advertEventHandler,
  type BatchAnswer,
  createDynamoDbPositions,
  type Delivery,
  type EventHandlerOptions,
  type Failure,
  type HandlerOptions,
  NotAnEventError,
  type PositionStore,
  PositionStoreError,
  type Refusal,
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

type Handle = (batch: AdvertBatch) => Promise<BatchAnswer | undefined>;
type Lambda = (event: unknown) => Promise<unknown>;

const context = { getRemainingTimeInMillis: () => 30_000 } as Context;
const batchKinds: [string, (options: HandlerOptions, handle: Handle) => Lambda][] = [
  [
    'advertBatchHandler',
    (options, handle) => {
      const lambda = advertBatchHandler(options, handle);
      return (event) => lambda(event, context);
    },
  ],
  [
    'advertBatchMiddleware',
    (options, handle) => {
      const lambda = middy()
        .use(advertBatchMiddleware(options))
        .handler((batch: AdvertBatch) => handle(batch));
      return (event) => lambda(event as AdvertBatch, context);
    },
  ],
];
const eventHandler = (options: HandlerOptions, apply: (delivery: Delivery) => unknown): Lambda => {
  const each = (_event: unknown, delivery: Delivery) => apply(delivery);
  const on: EventHandlerOptions['on'] = {
    AdvertStatusChanged: each,
    AdvertUnavailable: each,
    PartnerAuthorizationRequired: each,
    PartnerAuthorizationRestored: each,
  };
  const lambda = advertEventHandler({ ...options, on });
  return (event) => lambda(event, context);
};
/** The three forms, with a function for one event. */
const kinds: [string, typeof eventHandler][] = [
  ['advertEventHandler', eventHandler],
  ...batchKinds.map(([name, lambdaOf]): [string, typeof eventHandler] => [
    name,
    (options, apply) =>
      lambdaOf(options, async ({ deliveries }) => {
        for (const delivery of deliveries) await apply(delivery);
        return undefined;
      }),
  ]),
];

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
  vi.spyOn(console, 'error').mockImplementation((...line) => void printed.push(line));
});

describe.each(kinds)('%s', (_name, lambdaOf) => {
  /** A subscriber that notes what it applied. */
  function subscriber(options: Partial<HandlerOptions> = {}) {
    const positions = options.positions ?? createInMemoryPositions();
    const seen: string[] = [];
    const lambda = lambdaOf({ positions, ...options }, (delivery) => seen.push(noted(delivery)));
    return { lambda, seen };
  }

  it('hands on what is new, in order, and answers that all is well', async () => {
    const { lambda, seen } = subscriber();

    expect(await lambda(aLambdaEvent([nth(2), nth(1), nth(2), nth(5)]))).toEqual(failed());

    expect(seen).toEqual(['1 apply', '2 apply', '5 gap 2']);
    expect(printed).toEqual([]);
  });

  it('leaves out what was applied before, and says so', async () => {
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

  it('applies the events of two bridges when both have the same partner account', async () => {
    const { lambda, seen } = subscriber();
    const ofShop = nth(1, { bridge: 'Shop', generation: 1_700_000_000 });

    await lambda(aLambdaEvent([nth(5)]));
    await lambda(aLambdaEvent([ofShop, nth(4)]));

    expect(seen).toEqual(['5 apply', '1 apply']);
  });

  it('takes the event of a rule whose target is the function', async () => {
    const { lambda, seen } = subscriber();

    await lambda(anAdvertUnavailable({ sequence: 4 }));

    expect(seen).toEqual(['4 apply']);
  });

  it('hands on authorization events, which have no history', async () => {
    const { lambda, seen } = subscriber();

    expect(await lambda(aLambdaEvent([aPartnerAuthorizationRequired()]))).toEqual(failed());

    expect(seen).toEqual(['1 apply']);
  });

  it('gives back a body that is no event, and spoils no other', async () => {
    const { lambda, seen } = subscriber();

    expect(await lambda(aLambdaEvent(['nonsense', nth(1)]))).toEqual(failed('message-1'));

    expect(seen).toEqual(['1 apply']);
  });

  it('hands a body that is no event over with the reason, and is done with it', async () => {
    const refused: Refusal[] = [];
    const { lambda, seen } = subscriber({ onRefused: async (refusal) => void refused.push(refusal) });

    expect(await lambda(aLambdaEvent(['nonsense', nth(1, { schemaVersion: '2.0' }), nth(1)]))).toEqual(
      failed(),
    );

    expect(seen).toEqual(['1 apply']);
    expect(refused).toMatchObject([
      { body: 'nonsense', messageId: 'message-1', error: { code: 'not-an-event', reason: 'expected JSON' } },
      { messageId: 'message-2', error: { code: 'unsupported-version' } },
    ]);
  });

  it('gives it back when it cannot be handed over', async () => {
    const { lambda } = subscriber({ onRefused: () => Promise.reject(new Error('no such queue')) });

    expect(await lambda(aLambdaEvent(['nonsense']))).toEqual(failed('message-1'));
  });

  it('takes an empty batch', async () => {
    const { lambda } = subscriber();

    expect(await lambda({ Records: [] })).toEqual(failed());
  });

  it.each([{ hello: 'world' }, undefined, {}, { Records: 'x' }, { Records: [null] }])(
    'fails where a rule calls it with %j',
    async (input) => {
      const { lambda } = subscriber();

      await expect(lambda(input)).rejects.toThrow(NotAnEventError);
    },
  );

  it('gives back the events of an advert that another worker is at, until its claim runs out', async () => {
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
    await expect(lambda(nth(1))).rejects.toThrow(AdvertBusyError);
    now = 500;
    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());

    expect(seen).toHaveLength(2);
  });

  it('waits a moment for an advert that another worker has, and gives nothing back', async () => {
    const positions = createInMemoryPositions();
    const claim = { position: { generation: 1, sequence: 1 }, owner: 'other', until: Date.now() + 60_000 };
    await positions.claim('main/123', claim, Date.now());
    setTimeout(() => void positions.release('main/123', 'other'), 60);
    const { lambda, seen } = subscriber({ positions });

    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());

    expect(seen).toEqual(['1 apply']);
  });

  it('gives back what it could not remember', async () => {
    const inner = createInMemoryPositions();
    const positions: PositionStore = { ...inner, confirm: () => Promise.reject(new Error('throttled')) };
    const { lambda } = subscriber({ positions });

    expect(await lambda(aLambdaEvent(['nonsense', nth(1)]))).toEqual(failed('message-1', 'message-2'));
    await expect(lambda(nth(1, { advertId: '9' }))).rejects.toThrow('throttled');
  });

  it('fails as a whole when the position store fails for every record', async () => {
    const positions: PositionStore = { ...createInMemoryPositions(), claim: denied };
    const { lambda, seen } = subscriber({ positions });

    const call = lambda(aLambdaEvent([nth(1), nth(2), nth(1, { advertId: '9' })]));

    await expect(call).rejects.toThrow(PositionStoreError);
    await expect(call).rejects.toThrow(/all 3 records: AccessDeniedException: not authorized.+GetItem/);
    expect(seen).toEqual([]);
  });

  it('says with the message ID what the position store failed at, and goes on with other adverts', async () => {
    const { claim, ...inner } = createInMemoryPositions();
    const positions: PositionStore = {
      ...inner,
      claim: (key, ...more) => (key === 'main/123' ? denied() : claim(key, ...more)),
    };
    const { lambda, seen } = subscriber({ positions });

    expect(await lambda(aLambdaEvent([nth(1), nth(1, { advertId: '9' })]))).toEqual(failed('message-1'));

    expect(seen).toEqual(['1 apply']);
    expect(printed).toEqual([
      [
        'advert-bridge: the position store failed for message message-1 (AdvertStatusChanged main/1763640000/123/1): AccessDeniedException: not authorized. It goes back to the queue. With DynamoDB, check that the table exists and that the function may dynamodb:UpdateItem and dynamodb:GetItem on it.',
      ],
    ]);
  });

  it('says what is refused, and what could not be sent to the dead-letter queue', async () => {
    await subscriber().lambda(aLambdaEvent(['nonsense']));
    await subscriber({ onRefused: denied }).lambda(aLambdaEvent(['nonsense']));

    expect(printed).toEqual([
      [
        expect.stringMatching(
          /^advert-bridge: message message-1 is refused: .+expected JSON\. .+dead-letter queue immediately\.$/,
        ),
      ],
      [
        expect.stringMatching(
          /^advert-bridge: message message-1 is refused and could not be sent .+AccessDenied.+sqs:SendMessage to it\.$/,
        ),
      ],
    ]);
  });

  it('tells onError instead, which may itself fail', async () => {
    const failures: Failure[] = [];
    const { lambda } = subscriber({
      onRefused: denied,
      onError: (failure) => {
        failures.push(failure);
        throw new Error('no metrics');
      },
    });

    expect(await lambda(aLambdaEvent(['nonsense']))).toEqual(failed('message-1'));

    expect(failures).toEqual([
      { stage: 'dead-letter', error: expect.any(Error), events: [], messageIds: ['message-1'] },
    ]);
    expect(printed).toEqual([[expect.stringContaining('onError threw Error: no metrics')]]);
  });

  it('calls for everything when the positions are in the own write', async () => {
    const { lambda, seen } = subscriber({ positions: 'own-write' });

    await lambda(aLambdaEvent([nth(3), nth(2)]));
    await lambda(aLambdaEvent([nth(2)]));

    expect(seen).toEqual(['2 apply', '3 apply', '2 apply']);
  });

  it('ends with the latest status of every advert, whatever the bus and the queue do', async () => {
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

  it.each([1, 2, 3])('ends so too when many workers get the batches at once, seed %i', async (seed) => {
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
  });
});

describe('advertEventHandler', () => {
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

  it('gives back the event that failed and later ones of its advert, and no other', async () => {
    const { lambda, seen, broken } = poisoned();

    expect(await lambda(batch, context)).toEqual(failed('message-3', 'message-1'));
    expect(seen.sort()).toEqual(['123/1', '9/1', '9/2']);

    broken.clear();
    expect(await lambda(batch, context)).toEqual(failed());
    expect(seen.slice(3)).toEqual(['123/2', '123/3']);
  });

  it('says which message failed, which wait for it, and where', async () => {
    await poisoned().lambda(batch);

    expect(printed).toEqual([
      [
        'advert-bridge: your handler failed for message message-3 (AdvertStatusChanged main/1763640000/123/2): TypeError: no price. It goes back to the queue, with it message-1: later events of an advert wait for the one that failed.',
        expect.any(TypeError),
      ],
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

  it('counts an event that has no function as applied, and says so', async () => {
    const skipped: unknown[] = [];
    const { lambda, seen } = poisoned({
      onSkipped: ({ 'detail-type': type }, why) => skipped.push([type, why]),
    });

    await lambda(aLambdaEvent([anAdvertUnavailable({ sequence: 5 })]));
    await lambda(aLambdaEvent([nth(4), nth(6)]));

    expect(skipped).toEqual([
      ['AdvertUnavailable', 'no-handler'],
      ['AdvertStatusChanged', 'stale'],
    ]);
    expect(seen).toEqual(['123/6']);
  });

  it('applies the events of so many adverts side by side, and those of one in order', async () => {
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

  it('tells of a claim that could not be released, too', async () => {
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

  it('are checked when a handler is made, all at once', () => {
    const wrong = { positions: { claim: 1 }, on: { AdvertSold: () => {} }, onError: 'log', store: {} };

    expect(made(() => advertEventHandler(anything(wrong)))).toBe(
      `advertEventHandler was given wrong options.
  positions: expected 'own-write' or a position store: createDynamoDbPositions makes one
  onError: expected a function
  on: expected functions for AdvertStatusChanged, AdvertUnavailable, PartnerAuthorizationRequired, PartnerAuthorizationRestored
  store: expected no such option`,
    );
    expect(made(() => advertEventHandler({ positions: 'own-write', on: {} }))).toContain(
      'on: expected functions',
    );
    expect(made(() => advertBatchHandler(anything({}), async () => {}))).toContain('positions: expected');
    expect(made(() => advertBatchMiddleware(anything(undefined)))).toContain('positions: expected');
  });

  it('are checked where an environment variable may be missing', () => {
    expect(made(() => createDynamoDbPositions({ dynamodb: anything({}), tableName: undefined }))).toMatch(
      /dynamodb: expected a client.+\n {2}tableName: expected the name of a table/,
    );
    expect(made(() => sendToDeadLetters({ sqs: anything({}), queueUrl: '' }))).toMatch(
      /sqs: expected a client.+\n {2}queueUrl: expected the URL/,
    );
  });
});

describe.each(batchKinds)('%s, a batch at once', (_name, lambdaOf) => {
  function subscriber() {
    const seen: string[] = [];
    let answer: () => BatchAnswer | undefined = () => undefined;
    const lambda = lambdaOf({ positions: createInMemoryPositions() }, async ({ deliveries }) => {
      const result = answer();
      seen.push(...deliveries.map(noted));
      return result;
    });
    return {
      lambda,
      seen,
      answers(next: () => BatchAnswer | undefined) {
        answer = next;
      },
    };
  }

  it('gives all back when the handler throws, and does them again', async () => {
    const { lambda, seen, answers } = subscriber();
    answers(() => {
      throw new Error('index is down');
    });
    await expect(lambda(aLambdaEvent([nth(1)]))).rejects.toThrow('index is down');
    answers(() => undefined);

    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());

    expect(seen).toEqual(['1 apply']);
  });

  it('gives back what the handler failed at, and what comes after it of the same advert', async () => {
    const { lambda, seen, answers } = subscriber();
    const batch = aLambdaEvent([nth(1), nth(2), nth(3), nth(1, { advertId: '9' })]);
    answers(() => failed('message-2'));

    expect(await lambda(batch)).toEqual(failed('message-2', 'message-3'));

    answers(() => undefined);
    expect(await lambda(batch)).toEqual(failed());
    expect(seen.slice(4)).toEqual(['2 apply', '3 apply']);
  });

  it.each([
    ['of another batch', aLambdaEvent([nth(1)]), failed('message-9')],
    ['without its ID', aLambdaEvent([nth(1)]), { batchItemFailures: [{ messageId: 'message-1' }] }],
    ['in another form', aLambdaEvent([nth(1)]), { batchItemFailures: 'message-1' }],
    ['where there are no messages', nth(1), { batchItemFailures: [{ itemIdentifier: undefined }] }],
  ])('counts nothing as applied when the handler names a failed message %s', async (_what, batch, answer) => {
    const { lambda, seen, answers } = subscriber();
    answers(() => answer as BatchAnswer);

    await expect(lambda(batch)).rejects.toThrow('the messageId of a delivery');

    answers(() => undefined);
    expect(await lambda(batch)).toEqual(failed());
    expect(seen).toEqual(['1 apply', '1 apply']);
  });

  it('takes an answer without failures', async () => {
    const { lambda, seen, answers } = subscriber();
    answers(() => ({ batchItemFailures: null }) as unknown as BatchAnswer);

    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());
    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());

    expect(seen).toEqual(['1 apply']);
  });
});

describe('sendToDeadLetters', () => {
  it('sends the body as it came, with the reason', async () => {
    const sent: unknown[] = [];
    const send = sendToDeadLetters({
      sqs: { sendMessage: async (input) => sent.push(input) },
      queueUrl: 'https://queue',
    });

    await send({ error: new NotAnEventError('expected JSON'), body: 'nonsense', messageId: 'm' });

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

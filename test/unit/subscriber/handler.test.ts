import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  aLambdaEvent,
  anAdvertStatusChanged,
  anAdvertUnavailable,
  aPartnerAuthorizationRequired,
} from '../../../subscriber/fixtures.ts';
import {
  type AdvertBatch,
  AdvertBusyError,
  type AdvertEvent,
  advertEventHandler,
  advertEvents,
  anAdvertHistory,
  type BatchAnswer,
  createInMemoryStore,
  latestStatuses,
  NotAnEventError,
  type PositionStore,
  playEvents,
  type Refusal,
  sendToDeadLetters,
} from '../../../subscriber/index.ts';

type Handle = (batch: AdvertBatch) => Promise<BatchAnswer | undefined>;
type Options = Parameters<typeof advertEventHandler>[0];
type Lambda = (event: unknown) => Promise<unknown>;

const context = { getRemainingTimeInMillis: () => 30_000 } as Context;
const kinds: [string, (options: Options, handle: Handle) => Lambda][] = [
  [
    'advertEventHandler',
    (options, handle) => {
      const lambda = advertEventHandler(options, handle);
      return (event) => lambda(event, context);
    },
  ],
  [
    'advertEvents with middy',
    (options, handle) => {
      const lambda = middy()
        .use(advertEvents(options))
        .handler((batch: AdvertBatch) => handle(batch));
      return (event) => lambda(event as AdvertBatch, context);
    },
  ],
];

const failed = (...ids: string[]) => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
});

describe.each(kinds)('%s', (_name, lambdaOf) => {
  /** A subscriber that notes what it was given, and fails where it is told to. */
  function subscriber(options: Partial<Options> = {}) {
    const store = options.store ?? createInMemoryStore();
    const seen: string[] = [];
    let answer: () => BatchAnswer | undefined = () => undefined;
    const lambda = lambdaOf({ store, ...options }, async ({ deliveries }) => {
      const result = answer();
      for (const { event, outcome, missing } of deliveries) {
        const [what] = event.detail.metadata.eventId.split('/').slice(-1);
        seen.push(`${what} ${outcome}${missing ? ` ${missing}` : ''}`);
      }
      return result;
    });
    return {
      lambda,
      seen,
      store,
      answers(next: () => BatchAnswer | undefined) {
        answer = next;
      },
    };
  }

  const nth = (sequence: number, more: object = {}) => anAdvertStatusChanged({ sequence, ...more });

  it('hands on what is new, in order, and answers that all is well', async () => {
    const { lambda, seen } = subscriber();

    expect(await lambda(aLambdaEvent([nth(2), nth(1), nth(2), nth(5)]))).toEqual(failed());

    expect(seen).toEqual(['1 apply', '2 apply', '5 gap 2']);
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

  it('fails where a rule calls it with what is no event', async () => {
    const { lambda } = subscriber();

    await expect(lambda({ hello: 'world' })).rejects.toThrow(NotAnEventError);
  });

  it('gives back the events of an advert that another worker is at, until its claim runs out', async () => {
    let now = 0;
    const store = createInMemoryStore();
    // A worker that died: it claimed the advert and did no more.
    await store.claim('main/123', { position: { generation: 1, sequence: 1 }, owner: 'dead', until: 500 }, 0);
    const { lambda, seen } = subscriber({ store, now: () => now });

    expect(await lambda(aLambdaEvent([nth(1), nth(1, { advertId: '9' })]))).toEqual(failed('message-1'));
    await expect(lambda(nth(1))).rejects.toThrow(AdvertBusyError);
    now = 500;
    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed());

    expect(seen).toHaveLength(2);
  });

  it('gives back what it could not remember', async () => {
    const inner = createInMemoryStore();
    const store: PositionStore = { ...inner, confirm: () => Promise.reject(new Error('throttled')) };
    const { lambda } = subscriber({ store });

    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed('message-1'));
    await expect(lambda(nth(1, { advertId: '9' }))).rejects.toThrow('throttled');
  });

  it('gives all back when the store is down', async () => {
    const store: PositionStore = { ...createInMemoryStore(), claim: () => Promise.reject(new Error('down')) };
    const { lambda, seen } = subscriber({ store });

    expect(await lambda(aLambdaEvent([nth(1)]))).toEqual(failed('message-1'));
    expect(seen).toEqual([]);
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
        const lambda = lambdaOf({ store: createInMemoryStore() }, async ({ deliveries }) => {
          for (const { event } of deliveries) {
            const { metadata, data } = event.detail as AdvertEvent['detail'];
            table.set(`${metadata.partnerAccount}/${data.advertId}`, data.status);
          }
          // After the work, before anything is remembered.
          if (crashes[runs++] === 0) throw new Error('crash');
          return undefined;
        });
        const batches = playEvents(histories, { seed });
        while (batches.length > 0) {
          const batch = batches.shift() as AdvertEvent[];
          // What failed comes back behind the others, as from a queue.
          await lambda(aLambdaEvent(batch)).catch(() => batches.push(batch));
        }
        expect(table).toEqual(latestStatuses(histories));
      }),
    );
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

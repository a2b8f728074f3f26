import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createChangedAdvertsQueue } from '../../../shared/aws/changed-adverts-queue.ts';
import { sendDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { createStoredLetters } from '../../../shared/aws/stored-letters.ts';
import type { DeadLetter } from '../../../shared/contract/messages.ts';
import { startSqs } from '../../helpers/aws/emulators.ts';
import { aLetter, aMessage } from '../../helpers/aws/fixtures.ts';

describe('dead letters of a stack', () => {
  let sqs: Awaited<ReturnType<typeof startSqs>>;
  let queue: ReturnType<typeof sqs.createQueue>;
  let deadLetterQueue: ReturnType<typeof sqs.createQueue>;
  const books = { add: vi.fn(async () => {}) };
  const letters = () => createStoredLetters({ queue, deadLetterQueue, books });
  const uncounted = ['main', aMessage().generation, { deadLettered: -1 }];

  beforeAll(async () => {
    sqs = await startSqs();
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => sqs.stop());
  beforeEach(() => {
    books.add.mockClear();
    [queue, deadLetterQueue] = [sqs.createQueue(), sqs.createQueue()];
  });

  const put = (...given: readonly DeadLetter[]) =>
    sendDeadLetters(
      deadLetterQueue,
      given.map((letter, index) => ({ id: String(index), letter })),
      {},
    );
  const putBody = (body: string) =>
    deadLetterQueue.client.send(
      new SendMessageCommand({
        QueueUrl: deadLetterQueue.url,
        MessageBody: body,
        MessageGroupId: 'any',
        MessageDeduplicationId: 'any',
      }),
    );
  /** Receives a message from the queue and deletes it. */
  async function takeFromQueue(): Promise<unknown> {
    const { client, url: QueueUrl } = queue;
    const { Messages: [found] = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl }));
    if (!found) return undefined;
    await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: found.ReceiptHandle }));
    return JSON.parse(found.Body ?? '');
  }
  const other = () =>
    aLetter({ partnerAccount: 'other', message: aMessage('2', { partnerAccount: 'other' }) });

  it('gives one partner account’s messages back, uncounts them, and leaves the rest to be seen again', async () => {
    await put(aLetter({ message: aMessage('1') }), other(), aLetter({ advertId: 'x', message: null }));

    const outcome = await letters().redrive({ partnerAccount: 'main' });

    expect(outcome).toEqual({
      done: [expect.any(String)],
      nothingToSend: [expect.any(String)],
      refused: [],
      unseen: 0,
    });
    expect(queue.bodies().map((body) => JSON.parse(body))).toEqual([aMessage('1')]);
    expect(books.add.mock.calls).toEqual([uncounted]);
    expect(await letters().redrive({})).toMatchObject({
      done: [expect.any(String)],
      nothingToSend: [expect.any(String)],
    });
  });

  it('gives a message back that the queue accepted a moment ago, and once more when it failed again', async () => {
    const message = aMessage('1');
    const changedAdverts = createChangedAdvertsQueue({ queue });
    await changedAdverts.send([message]);
    expect(await takeFromQueue()).toEqual(message);

    // The queue drops what has the deduplication ID of a message of the last five minutes.
    await changedAdverts.send([message]);
    expect(await takeFromQueue()).toBeUndefined();
    for (const id of ['first failure', 'second failure']) {
      await sendDeadLetters(deadLetterQueue, [{ id, letter: aLetter({ message }) }], {});
      expect(await letters().redrive({})).toMatchObject({ done: [expect.any(String)], refused: [] });
      expect(await takeFromQueue()).toEqual(message);
    }
  });

  it('lists all of them, again and again, and those with certain IDs', async () => {
    const many = Array.from({ length: 23 }, (_, index) =>
      aLetter({ advertId: String(index), at: `2026-11-20T12:00:${String(59 - index)}.000Z` }),
    );
    await put(...many);

    const first = await letters().list({});
    const second = await letters().list({});
    const two = first.letters.slice(3, 5);
    const some = await letters().list({ ids: two.map(({ id }) => id) });

    expect(first.letters.map(({ letter }) => letter)).toEqual(many.toReversed());
    expect(second).toEqual(first);
    expect(some).toEqual({ letters: two, unseen: 0 });
  });

  it('tells how many stand hidden behind one of the same advert', async () => {
    await put(aLetter(), aLetter({ reason: 'retry' }));

    // The emulator hands out one message of a group; SQS up to ten.
    expect(await letters().list({})).toMatchObject({ letters: [{}], unseen: 1 });
  });

  it('drops those with certain IDs for good, and no others', async () => {
    await put(aLetter({ advertId: '1' }), aLetter({ advertId: '2' }));
    const [one, two] = (await letters().list({})).letters;
    const ids = [one?.id ?? ''];

    expect(await letters().drop({ ids })).toMatchObject({ done: ids, refused: [] });
    expect(await letters().drop({ ids })).toMatchObject({ done: [] });

    expect((await letters().list({})).letters).toEqual([two]);
    expect(books.add.mock.calls).toEqual([['main', aMessage().generation, { deadLettered: 0 }]]);
  });

  it('says of a message that SQS moved by itself what happened, and puts it back without uncounting it', async () => {
    await putBody(JSON.stringify(aMessage('7')));

    const listed = await letters().list({ partnerAccount: 'main' });
    const { done } = await letters().redrive({});

    expect(listed.letters).toMatchObject([
      { letter: { advertId: '7', fault: 'moved-by-sqs', reason: expect.stringContaining('thousand') } },
    ]);
    expect(done).toEqual(listed.letters.map(({ id }) => id));
    expect(queue.bodies().map((body) => JSON.parse(body))).toEqual([aMessage('7')]);
    expect(books.add.mock.calls).toEqual([['main', aMessage().generation, { deadLettered: 0 }]]);
  });

  it('has nothing to send of a body that is neither', async () => {
    await putBody('{"hello":1}');

    expect((await letters().list({})).letters).toMatchObject([
      { letter: { fault: 'malformed-message', partnerAccount: null, message: null } },
    ]);
    expect(await letters().redrive({})).toMatchObject({ done: [], nothingToSend: [expect.any(String)] });
  });

  it('shows again what it holds when something goes wrong', async () => {
    await put(aLetter({ message: aMessage('1') }));
    const broken = { ...queue, url: `${queue.url}-gone` };

    await expect(
      createStoredLetters({ queue: broken, deadLetterQueue, books }).redrive({}),
    ).rejects.toThrow();

    expect((await letters().list({})).letters).toHaveLength(1);
  });

  it('goes over no more letters than are asked for by their IDs', async () => {
    await put(...Array.from({ length: 15 }, (_, index) => aLetter({ advertId: String(index) })));
    const { letters: all } = await letters().list({});
    const received = vi.spyOn(deadLetterQueue.client, 'send');
    const [first] = all;
    await letters().list({ ids: [first?.id ?? '', first?.id ?? ''] });
    const asked = received.mock.calls.filter(([command]) => command instanceof ReceiveMessageCommand);
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it('leaves a letter, counted, whose message the queue refuses', async () => {
    await put(aLetter({ message: aMessage('1') }));
    const [stored] = (await letters().list({})).letters;
    const refuses = {
      ...queue,
      client: { send: async () => ({ Failed: [{ Id: '0', SenderFault: true }] }) },
    };
    const outcome = await createStoredLetters({
      queue: refuses as unknown as typeof queue,
      deadLetterQueue,
      books,
    }).redrive({});
    expect(outcome).toEqual({ done: [], nothingToSend: [], refused: [stored?.id], unseen: 0 });
    expect(books.add).not.toHaveBeenCalled();
    expect((await letters().list({})).letters).toEqual([stored]);
  });

  it('counts a message that SQS moved by itself once it is dropped, and nothing for what is no message', async () => {
    await putBody(JSON.stringify(aMessage('7')));
    await put(aLetter({ message: null }));
    const ids = (await letters().list({})).letters.map(({ id }) => id);
    const { done } = await letters().drop({ ids });
    expect(done.toSorted()).toEqual(ids.toSorted());
    expect(books.add.mock.calls).toEqual([['main', aMessage().generation, { deadLettered: 1 }]]);
  });
});

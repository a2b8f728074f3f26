import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { redriveDeadLetters } from '../../../operations/dead-letters.ts';
import type { Delivery } from '../../../shared/ports/queue.ts';
import { stateFileIn } from '../../../shared/sqlite/file/private-folder.ts';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { changedAdvert, deadLetter, letterOf, settlement } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 30_000 };
const advertsOf = (deliveries: readonly Delivery[]) =>
  deliveries.map(({ message, receives }) => [message?.advertId, receives]);

describe('the queue in the state file', () => {
  it('hands out what another process has sent or redriven meanwhile', async () => {
    const dir = folder();
    const [run, command] = [openEmbeddedState(dir), openEmbeddedState(dir)];
    const message = changedAdvert({ advertId: '1' });
    await run.queue.send([message]);
    const [delivery] = await run.queue.receive(many);
    await run.queue.settle([settlement(delivery, { kind: 'dead-letter', letter: letterOf(message) })]);

    await command.queue.send([changedAdvert({ advertId: '2' })]);
    await redriveDeadLetters(command, {});

    expect(advertsOf(await run.queue.receive(many))).toEqual([
      ['2', 1],
      ['1', 1],
    ]);
    run.close();
    command.close();
  });

  it('takes partner accounts in turn', async () => {
    const state = openEmbeddedState(folder());
    const send = (partnerAccount: string, ...advertIds: string[]) =>
      state.queue.send(advertIds.map((advertId) => changedAdvert({ partnerAccount, advertId })));
    await send('large', '1', '2', '3', '4');
    const order: (string | undefined)[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const [delivery] = await state.queue.receive({ ...many, maxGroups: 1 });
      order.push(delivery?.message?.advertId);
      if (turn === 0) await send('small', '5', '6');
    }

    expect(order).toEqual(['1', '2', '5', '3', '6', '4']);
    state.close();
  });

  it('hands out the messages of one advert together, however far apart they stand', async () => {
    const state = openEmbeddedState(folder());
    for (let page = 0; page < 3; page += 1) {
      await state.queue.send(
        Array.from({ length: 1_000 }, (_, index) => changedAdvert({ advertId: String(index) })),
      );
    }
    const deliveries = await state.queue.receive({ ...many, maxGroups: 2 });

    expect(advertsOf(deliveries).map(([advert]) => advert)).toEqual(['0', '0', '0', '1', '1', '1']);
    await state.queue.settle(deliveries.map((one) => settlement(one, { kind: 'done', outcome: 'events' })));
    expect(await state.queue.depth('main')).toBe(2_994);
    state.close();
  });

  it('keeps the order of an advert whose messages come from several processes', async () => {
    const dir = folder();
    const [run, command] = [openEmbeddedState(dir), openEmbeddedState(dir)];
    // More than one read returns, so that the rest is found by its position.
    const others = Array.from({ length: 1_500 }, (_, index) =>
      changedAdvert({ advertId: String(index + 2) }),
    );
    await run.queue.send([changedAdvert({ advertId: '1', cause: 'feed' }), ...others]);
    await command.queue.send([changedAdvert({ advertId: '1', cause: 'backfill' })]);
    await run.queue.send([changedAdvert({ advertId: '1', cause: 'resync' })]);

    const causes: (string | undefined)[] = [];
    for (let taken = 0; taken < 1_503; ) {
      const deliveries = await run.queue.receive({ ...many, maxGroups: 100 });
      taken += deliveries.length;
      causes.push(...deliveries.flatMap(({ message }) => (message?.advertId === '1' ? message.cause : [])));
      await run.queue.settle(deliveries.map((one) => settlement(one, { kind: 'done', outcome: 'events' })));
    }
    expect(causes).toEqual(['feed', 'backfill', 'resync']);
    run.close();
    command.close();
  });

  it('finds what may be had behind thousands of messages that may not', async () => {
    const clock = createManualClock();
    const state = openEmbeddedState(folder(), { clock });
    for (let page = 0; page < 3; page += 1) {
      await state.queue.send(Array.from({ length: 1_000 }, () => changedAdvert({ advertId: '1' })));
    }
    await state.queue.send([changedAdvert({ advertId: '2' })]);

    expect(new Set(advertsOf(await state.queue.receive(many)).map(([advert]) => advert))).toEqual(
      new Set(['1', '2']),
    );
    state.close();
  });

  it('frees what was in hand when the file is opened again, and leaves put off what was', async () => {
    const clock = createManualClock();
    const dir = folder();
    const before = openEmbeddedState(dir, { clock });
    await before.queue.send(['1', '2'].map((advertId) => changedAdvert({ advertId })));
    const [, second] = await before.queue.receive(many);
    await before.queue.settle([settlement(second, { kind: 'retry', delayMs: 60_000 })]);
    before.close();

    const after = openEmbeddedState(dir, { clock });
    expect(advertsOf(await after.queue.receive(many))).toEqual([['1', 2]]);
    clock.advance(60_000);
    expect(advertsOf(await after.queue.receive(many))).toEqual([
      ['1', 3],
      ['2', 2],
    ]);
    after.close();
  });

  it('keeps what is aside when the file is opened again, and whoever has it open may release it', async () => {
    const clock = createManualClock();
    const dir = folder();
    const before = openEmbeddedState(dir, { clock });
    await before.queue.send(['1', '2'].map((advertId) => changedAdvert({ advertId })));
    const deliveries = await before.queue.receive(many);
    await before.queue.settle(deliveries.map((delivery) => settlement(delivery, { kind: 'hold' })));
    before.close();

    const running = openEmbeddedState(dir, { clock });
    expect(advertsOf(await running.queue.receive(many))).toEqual([]);
    const other = openEmbeddedState(dir, { clock });
    await other.queue.sendAgain(await other.aside.list('main'));

    expect(advertsOf(await running.queue.receive(many))).toEqual([
      ['1', 1],
      ['2', 1],
    ]);
    running.close();
    other.close();
  });

  it('keeps how often each message was received when the file is opened again', async () => {
    const dir = folder();
    const before = openEmbeddedState(dir);
    await before.queue.send(['1', '2', '3', '4'].map((advertId) => changedAdvert({ advertId })));
    const [, second] = await before.queue.receive({ ...many, maxGroups: 2 });
    await before.queue.settle([settlement(second, { kind: 'retry', delayMs: 0 })]);
    // The second message is received for the second time, and its neighbours for the first time.
    await before.queue.receive(many);
    before.close();

    const after = openEmbeddedState(dir);
    expect(advertsOf(await after.queue.receive(many))).toEqual([
      ['1', 2],
      ['2', 3],
      ['3', 2],
      ['4', 2],
    ]);
    after.close();
  });

  it('has what it could not note as handed out again at once', async () => {
    const dir = folder();
    const state = openEmbeddedState(dir);
    await state.queue.send([changedAdvert()]);
    const other = new DatabaseSync(stateFileIn(dir));
    other.exec("CREATE TRIGGER stop BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'not now'); END");
    await expect(state.queue.receive(many)).rejects.toThrow('not now');
    other.exec('DROP TRIGGER stop');
    other.close();
    expect(advertsOf(await state.queue.receive(many))).toEqual([['123', 2]]);
    state.close();
  });

  it('hands out a body that is no message by itself, and dead-letters it with what can be told of it', async () => {
    const dir = folder();
    const state = openEmbeddedState(dir);
    await state.queue.send([changedAdvert({ advertId: '1' }), changedAdvert({ advertId: '2' })]);
    const other = new DatabaseSync(stateFileIn(dir));
    other.exec("UPDATE messages SET body = 'no message'");
    other.close();
    const deliveries = await state.queue.receive(many);
    expect(deliveries.map(({ message, flaw }) => [message, typeof flaw])).toEqual([
      [undefined, 'string'],
      [undefined, 'string'],
    ]);
    await state.queue.settle(
      deliveries.map((one, index) =>
        settlement(one, { kind: 'dead-letter', letter: deadLetter({ advertId: String(index) }) }),
      ),
    );
    expect(await state.bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 2 });
    state.close();
  });
});

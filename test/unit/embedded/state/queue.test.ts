import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { stateFileIn } from '../../../../embedded/state/file/private-folder.ts';
import { type EmbeddedState, openEmbeddedState } from '../../../../embedded/state/state.ts';
import type { Delivery, Verdict } from '../../../../shared/ports/queue.ts';
import { changedAdvert, deadLetter, settlement } from '../../../helpers/records.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 30_000 };
const done = { kind: 'done', outcome: 'events' } as const;
const advertsOf = (deliveries: readonly Delivery[]) =>
  deliveries.map(({ message, receives }) => [message?.advertId, receives]);
const numbers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => String(from + index));

/** A folder whose state is open in this process, as often as `open` is called; all are closed in the end. */
function make() {
  const dir = folder();
  return {
    open(): EmbeddedState {
      const state = openEmbeddedState(dir);
      onTestFinished(state.close);
      return state;
    },
    change(sql: string): void {
      using db = new DatabaseSync(stateFileIn(dir));
      db.exec(sql);
    },
  };
}
const send = ({ queue }: EmbeddedState, ...advertIds: string[]) =>
  queue.send(advertIds.map((advertId) => changedAdvert({ advertId })));
const settleAll = ({ queue }: EmbeddedState, deliveries: readonly Delivery[], verdict: Verdict = done) =>
  queue.settle(deliveries.map((delivery) => settlement(delivery, verdict)));

it('the queue takes partner accounts in turn', async () => {
  const state = make().open();
  await send(state, '1', '2', '3', '4');
  const order: (string | undefined)[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const [delivery] = await state.queue.receive({ ...many, maxGroups: 1 });
    order.push(delivery?.message?.advertId);
    const small = ['5', '6'].map((advertId) => changedAdvert({ partnerAccount: 'small', advertId }));
    if (turn === 0) await state.queue.send(small);
  }
  expect(order).toEqual(['1', '2', '5', '3', '6', '4']);
});

it('messages of one advert come together, however far apart they stand', async () => {
  const state = make().open();
  for (let page = 0; page < 3; page += 1) await send(state, ...numbers(1_000));
  const deliveries = await state.queue.receive({ ...many, maxGroups: 2 });
  expect(advertsOf(deliveries).map(([advert]) => advert)).toEqual(['0', '0', '0', '1', '1', '1']);
  await settleAll(state, deliveries);
  expect(await state.queue.depth('main')).toBe(2_994);
});

it('an advert stays in order when several processes queue its messages', async () => {
  const { open } = make();
  const [run, command] = [open(), open()];
  const first = (cause: 'feed' | 'backfill' | 'resync') => [changedAdvert({ advertId: '1', cause })];
  await run.queue.send(first('feed'));
  // More than one read returns, so that the rest is found by its position.
  await send(run, ...numbers(1_500, 2));
  await command.queue.send(first('backfill'));
  await run.queue.send(first('resync'));

  const causes: (string | undefined)[] = [];
  for (let taken = 0; taken < 1_503; ) {
    const deliveries = await run.queue.receive({ ...many, maxGroups: 100 });
    taken += deliveries.length;
    causes.push(...deliveries.flatMap(({ message }) => (message?.advertId === '1' ? message.cause : [])));
    await settleAll(run, deliveries);
  }
  expect(causes).toEqual(['feed', 'backfill', 'resync']);
});

it('deliverable messages are found behind thousands that are not', async () => {
  const state = make().open();
  await send(state, ...Array<string>(3_000).fill('1'), '2');
  const adverts = advertsOf(await state.queue.receive(many)).map(([advert]) => advert);
  expect(new Set(adverts)).toEqual(new Set(['1', '2']));
});

it('a delivery that could not be stored is made again at once', async () => {
  const { open, change } = make();
  const state = open();
  await send(state, '1');
  change("CREATE TRIGGER stop BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'not now'); END");
  await expect(state.queue.receive(many)).rejects.toThrow('not now');
  change('DROP TRIGGER stop');
  expect(advertsOf(await state.queue.receive(many))).toEqual([['1', 2]]);
});

it('a body that is no message is delivered alone and dead-lettered', async () => {
  const { open, change } = make();
  const state = open();
  await send(state, '1', '1');
  change("UPDATE messages SET body = 'no message'");
  expect(await state.bookKeeper.queue()).toMatchObject({ waiting: 2 });
  const deliveries = await state.queue.receive(many);
  expect(deliveries.map(({ message, flaw }) => [message, typeof flaw])).toEqual(
    Array(2).fill([undefined, 'string']),
  );
  for (const [index, one] of deliveries.entries())
    await settleAll(state, [one], {
      kind: 'dead-letter',
      deadLetter: deadLetter({ advertId: `${index}` }),
    });
  expect(await state.bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 2 });
});

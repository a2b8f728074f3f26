import { expect, it } from 'vitest';
import { createDocuments, createTokenVault } from '../../../../embedded/state/secrets.ts';
import { answerConnect, createConnect } from '../../../../functions/connect/connect.ts';
import { type Folder, move, type Stack } from '../../../../operators/operations/move/move.ts';
import { movedTo } from '../../../../operators/operations/move/moved-to.ts';
import { heldBy, withHold } from '../../../../shared/domain/holds.ts';
import { type PartnerAccount, stopOf } from '../../../../shared/domain/partner-account.ts';
import { Secret, textOfPair } from '../../../../shared/domain/secret.ts';
import { bookKeeperOf, readBooks } from '../../../../shared/state/books.ts';
import { rowPorts } from '../../../../shared/state/row-ports.ts';
import { createInMemoryQueue, immediate } from '../../../fakes/changed-adverts-queue.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import {
  changedAdvert,
  deadLetterOf,
  feedState,
  partnerAccount,
  settlement,
  tokenPair,
} from '../../../helpers/records.ts';

const generation = 1_763_640_000;
const application = { clientId: new Secret('client'), clientSecret: new Secret('secret') };
const baseUrl = 'https://partner.example';
const options = { place: 'AdvertBridge', dryRun: false };

function createState() {
  const clock = createManualClock();
  const rows = createInMemoryStore();
  const queue = createInMemoryQueue({ clock, rows });
  let ids = 0;
  const newId = () => `id-of-this-process-${++ids}`;
  const vault = createTokenVault(immediate, rows, { newVersion: newId });
  return { ...rowPorts(rows), ...createDocuments(immediate, rows), rows, queue, vault, clock, newId };
}

/** Two accounts; `main` has waiting messages and a dead letter, `second` is paused. */
async function createFolder() {
  const state = createState();
  const { partnerAccounts, vault, feedStates, advertHistories, queue, clock } = state;
  await state.applicationSecret.write(application);
  for (const name of ['main', 'second']) {
    const version = await vault.write(name, tokenPair({ refreshToken: new Secret(`refresh-${name}`) }));
    const token = { version, expiresAt: clock.now() + 60_000, usedAt: clock.now() };
    await partnerAccounts.add(partnerAccount({ name, token }));
    const counts = { listed: 4, malformed: 1, repeated: 0 };
    await feedStates.register(feedState({ partnerAccount: name, cursor: `cursor-${name}`, counts }));
    for (const advertId of ['1', '2']) {
      const key = { partnerAccount: name, generation, feed: 'adverts', advertId } as const;
      const envelope = `{"of":"${name}/${advertId}"}`;
      await advertHistories.write(key, {
        ...{ sequence: 7, status: 'active', envelope, pending: false, etag: 'absent' },
      });
    }
  }
  await partnerAccounts.change('second', (account) =>
    withHold(account, { kind: 'operator', since: 1, who: 'ann' }),
  );
  const messages = ['1', '2', '3'].map((advertId) =>
    changedAdvert({ advertId, correlationId: `read-${advertId}` }),
  );
  await queue.send(messages);
  const [first, second] = await queue.receive({ maxGroups: 2, maxPerGroup: 1, visibilityMs: 1 });
  await queue.settle([
    settlement(first, {
      kind: 'dead-letter',
      deadLetter: deadLetterOf(first?.message ?? changedAdvert()),
    }),
    settlement(second, { kind: 'hold' }),
  ]);
  const folder: Folder = {
    ...{ ...state, baseUrl, bridgeName: 'Home' },
    makeDurable: async () => undefined,
    undelivered: () => [],
  };
  return { ...state, folder };
}

async function createStack() {
  const state = createState();
  const refuse = () => Promise.reject(new Error('nothing is asked of the partner service'));
  const connect = createConnect({
    ...{ ...state, bookKeeper: bookKeeperOf(state.rows, state.queue.figures) },
    client: {
      requestTokens: refuse,
      readPage: refuse,
      authorizeUrl: ({ clientId }) => `${baseUrl}/authorize?client_id=${clientId.reveal()}`,
    },
    events: { publish: refuse },
    observer: createRecordingObserver(),
    settings: { bridge: 'AdvertBridge', requiredScope: 'v2', overlapSeconds: 300 },
  });
  const stack: Stack = {
    ...{ ...state, name: 'AdvertBridge', store: state.rows },
    outputs: { queueUrl: 'https://sqs/queue', partnerBaseUrl: `${baseUrl}/` },
    storeApplication: (given) => state.applicationSecret.write(given),
    askConnect: (event) => answerConnect(connect, event, { deadlineMs: state.clock.now() + 60_000 }),
  };
  return { ...state, stack };
}

const createBoth = async () => ({ from: await createFolder(), to: await createStack() });
type Both = Awaited<ReturnType<typeof createBoth>>;
type State = Pick<Both['from'], 'rows' | 'partnerAccounts' | 'vault'>;

const owns = ({ token, ...account }: PartnerAccount): boolean => token !== undefined && !stopOf(account);
const rowsIn = ({ rows }: Pick<State, 'rows'>) =>
  (['account', 'feed', 'books', 'aside', 'dead', 'history'] as const).flatMap((kind) =>
    rows.findAll(kind).map(({ name, value }) => ({ kind, name, value })),
  );
/** What is in the stack, without what differs from call to call. */
const outcomeOf = async ({ to }: Both) => ({
  rows: rowsIn(to).map((row) => JSON.parse(JSON.stringify(row).replaceAll(/id-of-this-process-\d+/g, 'id'))),
  tokens: await Promise.all(
    ['main', 'second'].map(async (name) => (await to.vault.read(name))?.pair.refreshToken.reveal()),
  ),
});

class Killed extends Error {}

/** The ports of a process that is killed before or after its `at`-th call; nothing that it calls later happens. */
function mortal(both: Both, at: number, when: 'before' | 'after', look: () => void) {
  let calls = 0;
  const guarded = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, key) {
        const value = Reflect.get(target, key);
        if (typeof value === 'object' && value !== null) return guarded(value);
        if (typeof value !== 'function' || ['now', 'sleep', 'newId', 'undelivered'].includes(String(key)))
          return value;
        return (...given: unknown[]) => {
          calls += 1;
          if (calls > at || (calls === at && when === 'before')) throw new Killed();
          const result = value.apply(target, given);
          if (!(result instanceof Promise)) return result;
          return result.then((answer) => {
            look();
            if (calls >= at) throw new Killed();
            return answer;
          });
        };
      },
    });
  return {
    folder: guarded(both.from.folder),
    stack: guarded(both.to.stack),
    calls: () => calls,
  };
}

/** Before and after each call of a port. */
async function killedEverywhere(visit: (both: Both, look: () => void) => Promise<void>): Promise<number> {
  for (let at = 1; ; at += 1) {
    for (const when of ['before', 'after'] as const) {
      const both = await createBoth();
      const look = () => checkOwners(both);
      const { folder, stack } = mortal(both, at, when, look);
      const ended = await move(folder, stack, options).catch((error: unknown) => error);
      if (ended instanceof Error && !(ended instanceof Killed)) throw ended;
      if (!(ended instanceof Killed)) return at;
      look();
      // The lock of the dead process ends.
      await both.from.clock.advance(121_000);
      await both.to.clock.advance(121_000);
      await visit(both, look);
    }
  }
}

/** At most one side uses an account's tokens; and it is the stack only when everything is there. */
function checkOwners({ from, to }: Both): void {
  for (const { name, value } of to.rows.findAll('account')) {
    const there = value as PartnerAccount;
    const here = from.rows.find({ kind: 'account', name })?.value as PartnerAccount;
    expect(owns(there) && owns(here)).toBe(false);
    if (there.moving) continue;
    for (const kind of ['feed', 'history', 'dead'] as const) {
      const prefix = `${name}/`;
      expect(to.rows.findAll(kind, { prefix })).toHaveLength(from.rows.findAll(kind, { prefix }).length);
    }
  }
}

it('move gives the stack cursors, histories, messages, holds and books', async () => {
  const both = await createBoth();
  const booksBefore = await readBooks(both.from.rows, 'main', generation);
  const moved = await move(both.from.folder, both.to.stack, options);

  const { to } = both;
  expect(moved).toMatchObject([
    { partnerAccount: 'main', state: 'to-move', adverts: 2, waiting: 2, deadLetters: 1 },
    { partnerAccount: 'second', state: 'to-move', adverts: 2, waiting: 0, deadLetters: 0 },
  ]);
  const [main, second] = await to.partnerAccounts.list();
  expect(main).toMatchObject({ generation, bridge: 'Home', token: { version: expect.any(String) } });
  expect(main).not.toHaveProperty('holds');
  expect(second && heldBy(second, 'operator', 2)).toMatchObject({ who: 'ann' });
  expect(second && stopOf(second)).toBeUndefined();
  expect(await to.feedStates.ofAccount('main')).toMatchObject([{ cursor: 'cursor-main', generation }]);
  expect((await to.aside.list('main')).map(({ message }) => message.advertId)).toEqual(['2', '3']);
  expect(await to.deadLetters.list('main')).toMatchObject([{ advertId: '1' }]);
  expect(await readBooks(to.rows, 'main', generation)).toEqual(booksBefore);
  expect((await to.applicationSecret.read()).clientSecret.reveal()).toBe('secret');
  expect(await outcomeOf(both)).toMatchObject({ tokens: ['refresh-main', 'refresh-second'] });
  expect(await both.from.vault.read('main')).toBeUndefined();
});

it('move ends alike, with one owner, when killed and called again', async () => {
  const whole = await createBoth();
  await move(whole.from.folder, whole.to.stack, options);
  const expected = await outcomeOf(whole);

  const calls = await killedEverywhere(async (both, look) => {
    await move(both.from.folder, both.to.stack, options);
    look();
    expect(await outcomeOf(both)).toEqual(expected);
  });

  expect(calls).toBeGreaterThan(60);
});

it.each<[string, (both: Both) => unknown, RegExp]>([
  [
    'the stack knows an account already',
    ({ to }) => to.partnerAccounts.add(partnerAccount({ name: 'second', generation: generation + 1 })),
    /knows a partner account second already.*disconnect second --forget/,
  ],
  [
    'the stack has published a later history',
    ({ to }) => to.rows.add({ kind: 'books', name: `main/${generation + 1}/sums` }, { events: 1 }),
    /later history of main/,
  ],
  [
    'the stack has another application',
    ({ to }) => to.applicationSecret.write({ ...application, clientId: new Secret('other') }),
    /another application/,
  ],
  [
    'a webhook waits for events',
    ({ from }) => Object.assign(from.folder, { undelivered: () => ['3 for https://a.example/ho…12ab'] }),
    /events wait in the folder.*3 for https:/,
  ],
  [
    'the stack asks another service',
    ({ from }) => Object.assign(from.folder, { baseUrl: 'https://other.example' }),
    /asks the partner service at/,
  ],
  [
    'a row is no JSON',
    ({ from }) => {
      const { list } = from.rows;
      Object.assign(from.folder.rows, {
        list: async (...given: Parameters<typeof list>) =>
          (await list(...given)).map((row) => (given[0] === 'history' ? { ...row, value: undefined } : row)),
      });
    },
    /row history .*: expected JSON/,
  ],
])('move is refused, with nothing changed, when %s', async (_, inTheWay, message) => {
  const both = await createBoth();
  await inTheWay(both);
  const before = [rowsIn(both.from), rowsIn(both.to)];

  await expect(move(both.from.folder, both.to.stack, options)).rejects.toThrow(message);

  expect([rowsIn(both.from), rowsIn(both.to)]).toEqual(before);
});

it('move with dryRun shows what would be moved and changes nothing', async () => {
  const both = await createBoth();
  const before = [rowsIn(both.from), rowsIn(both.to)];

  const shown = await move(both.from.folder, both.to.stack, { ...options, dryRun: true });

  expect(shown).toMatchObject([{ partnerAccount: 'main', waiting: 2 }, { partnerAccount: 'second' }]);
  expect([rowsIn(both.from), rowsIn(both.to)]).toEqual(before);
  await expect(both.to.applicationSecret.read()).rejects.toThrow();
});

type Put = Stack['store']['put'];
/** The stack, where some writes fail. */
const refusing = (
  { stack }: Both['to'],
  name: string,
  isRefused: (...write: Parameters<Put>) => boolean,
): Stack => {
  const put: Put = async (...write) => {
    if (isRefused(...write)) throw Object.assign(new Error('refused'), { name });
    return stack.store.put(...write);
  };
  return { ...stack, store: { ...stack.store, put } };
};

it.each(['account', 'history'])('move changes nothing when it may write no %s row', async (denied) => {
  const both = await createBoth();
  const before = [rowsIn(both.from), rowsIn(both.to)];
  const stack = refusing(both.to, 'AccessDeniedException', ({ kind }) => kind === denied);

  for (const dryRun of [true, false])
    await expect(move(both.from.folder, stack, { ...options, dryRun })).rejects.toThrow('refused');

  expect([rowsIn(both.from), rowsIn(both.to)]).toEqual(before);
  expect(await movedTo(both.from.folder)).toBeUndefined();
});

it.each([
  [20, true],
  [1_000, false],
])('move waits while a table throttles %i writes of a row: %s', async (most, ends) => {
  const both = await createBoth();
  const times = new Map<string, number>();
  const stack = refusing(both.to, 'ThrottlingException', ({ name, kind }, _, expected) => {
    times.set(name, (times.get(name) ?? 0) + 1);
    return kind === 'history' && expected === 'absent' && (times.get(name) ?? 0) <= most;
  });

  const moving = move(both.from.folder, stack, options);
  await (ends ? moving : expect(moving).rejects.toThrow('refused'));

  const accounts = await both.to.partnerAccounts.list();
  expect(accounts.map(owns)).toEqual([ends, ends]);
});

it('move leaves a stopped account stopped, for the same reason', async () => {
  const both = await createBoth();
  const stop = { kind: 'authorization', since: 1, reason: 'refresh-token-rejected' } as const;
  await both.from.partnerAccounts.change('main', (account) => withHold(account, stop));

  await move(both.from.folder, both.to.stack, options);

  const account = await both.to.partnerAccounts.read('main');
  expect(account).toMatchObject({ holds: [stop], token: { version: expect.any(String) } });
});

it('move pauses each account of a paused folder, and not the stack’s own', async () => {
  const both = await createBoth();
  const hold = { kind: 'operator', since: 1, who: 'bob' } as const;
  await both.from.budgetStore.change((state) => withHold(state, hold));

  await move(both.from.folder, both.to.stack, options);

  const [main, second] = await both.to.partnerAccounts.list();
  expect([main?.holds, second?.holds]).toMatchObject([[{ who: 'bob' }], [{ who: 'ann' }]]);
  expect((await both.to.budgetStore.read()).holds).toBeUndefined();
});

it('move is refused when the folder was moved to another stack', async () => {
  const both = await createBoth();
  await move(both.from.folder, both.to.stack, options);
  const other = { ...both.to.stack, outputs: { ...both.to.stack.outputs, queueUrl: 'https://sqs/other' } };

  await expect(move(both.from.folder, other, options)).rejects.toThrow(
    /were moved to another stack: AdvertBridge/,
  );
  expect(await move(both.from.folder, both.to.stack, options)).toMatchObject([
    { state: 'moved' },
    { state: 'moved' },
  ]);
});

it('move connects nobody under the name of an account in move', async () => {
  const both = await createBoth();
  await both.to.partnerAccounts.add(partnerAccount({ moving: true }));

  expect(
    await both.to.stack.askConnect({ action: 'connect', partnerAccount: 'main', refreshToken: 'other' }),
  ).toMatchObject({ kind: 'refused', reason: expect.stringContaining('being moved') });
});

it('move does not overwrite a pair of the stack with a late one', async () => {
  const both = await createBoth();
  await move(both.from.folder, both.to.stack, options);
  const pair = textOfPair(tokenPair({ refreshToken: new Secret('late') }));

  const answer = await both.to.stack.askConnect({ action: 'store-pair', partnerAccount: 'main', pair });

  expect(answer).toMatchObject({ kind: 'refused', fault: 'account-busy' });
  expect((await outcomeOf(both)).tokens[0]).toBe('refresh-main');
});

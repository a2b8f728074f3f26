/**
 * The accounts of a folder become accounts of a stack: docs/decisions/0029-move.md. Each belongs to the folder until its
 * row there is on hold, and to the stack from the moment at which its row here names the token. In between it is nobody's.
 */

import type { EmbeddedState } from '../../../embedded/state/state.ts';
import { stopHold } from '../../../functions/refresh-token/account-writes.ts';
import { accountBusy, exclusively } from '../../../functions/refresh-token/refresh-lock.ts';
import { newestPair } from '../../../functions/refresh-token/token-pairs.ts';
import type { Clock } from '../../../shared/domain/clock.ts';
import { backoffMs, forEachConcurrent } from '../../../shared/domain/concurrency.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { type Holder, withHold, withoutHolds } from '../../../shared/domain/holds.ts';
import { type PartnerAccount, stopOf } from '../../../shared/domain/partner-account.ts';
import { textOfPair } from '../../../shared/domain/secret.ts';
import { newEtag, type Store } from '../../../shared/ports/store.ts';
import type { VersionedPair } from '../../../shared/ports/tokens.ts';
import type { Bridge } from '../bridge.ts';
import { askFor } from '../connect-functions.ts';
import { failed } from '../errors.ts';
import type { StackOutputs } from '../stack-outputs.ts';
import { type MovedRow, type Remembering, rowsToMove } from './move-rows.ts';
import { type MovedTo, movedTo, noteMove } from './moved-to.ts';

type Stored = 'vault' | 'partnerAccounts' | 'budgetStore' | 'applicationSecret' | 'settings' | 'makeDurable';

export interface Folder extends Remembering, Pick<EmbeddedState, Stored> {
  readonly clock: Clock;
  newId(): string;
  /** Of the partner service. */
  readonly baseUrl: string;
  /** Name of the bridge in its events. */
  readonly bridgeName: string;
  /** What its readers have not received, each as text. */
  undelivered(): readonly string[];
}

export interface Stack
  extends Pick<Bridge, 'name' | 'partnerAccounts' | 'askConnect' | 'storeApplication' | 'newId'> {
  readonly store: Store;
  readonly outputs: Pick<StackOutputs, 'queueUrl' | 'partnerBaseUrl'>;
}

export interface MovedAccount {
  readonly partnerAccount: string;
  /** `moved`: by an earlier call. */
  readonly state: 'to-move' | 'moved';
  readonly adverts: number;
  /** Messages in the queue and aside. */
  readonly waiting: number;
  readonly deadLetters: number;
}

interface MoveOptions {
  /** The stack as `--stack` names it. */
  readonly place: string;
  /** Checks everything, and changes nothing. */
  readonly dryRun: boolean;
  readonly onProgress?: (account: string, rows: number, total: number) => void;
}

/** How long to wait for a refresh that another command makes. */
const waitMs = 15_000;
const rowsAtOnce = 50;
/** All rows of a kind are in one partition, which takes about 1,000 a second: what it throttles waits, for minutes at most. */
const throttledBackoff = { baseMs: 500, capMs: 20_000, random: () => Math.random() };
const maxAttempts = 30;
const throttles = /Throttl|ThroughputExceeded|RequestLimitExceeded/;

/**
 * The caller holds the folder's run lock. After an end at any point, the next call goes on.
 *
 * @returns what is moved, or has been
 * @throws {CommandError} before anything is changed, if something is in the way
 */
export async function move(folder: Folder, stack: Stack, options: MoveOptions): Promise<MovedAccount[]> {
  const { place, dryRun, onProgress } = options;
  const { queueUrl } = stack.outputs;
  const begun = await movedTo(folder);
  if (begun && begun.queueUrl !== queueUrl)
    throw failed('moved-elsewhere', { stack: begun.stack, are: begun.isDone ? 'were' : 'are being' });
  const [here, there] = [folder.baseUrl, stack.outputs.partnerBaseUrl];
  if (new URL(here).href !== new URL(there).href) throw failed('other-service', { here, there });
  const undelivered = folder.undelivered();
  if (undelivered.length > 0) throw failed('undelivered', { events: undelivered.join('; ') });
  const accounts = await folder.partnerAccounts.list();
  const plan: (MovedAccount & { readonly account: PartnerAccount; readonly total: number })[] = [];
  for (const account of accounts) {
    const isMoved = await hasStack(stack, account, begun);
    const state = isMoved ? 'moved' : 'to-move';
    plan.push({ partnerAccount: account.name, state, ...(await figuresOf(folder, account)), account });
  }
  const hasApplication = await isSameApplication(folder, stack);
  for (const kind of ['account', 'history'] as const) await mayWrite(stack, kind);
  const facts = plan.map(({ account: _account, total: _total, ...fact }) => fact);
  if (dryRun || begun?.isDone) return facts;

  if (!hasApplication) await stack.storeApplication(await folder.applicationSecret.read());
  const mine = plan.filter(({ state }) => state === 'to-move');
  for (const { account } of mine) await reserve(stack, account, folder.clock.now());
  if (!begun) await noteMove(folder, { stack: place, queueUrl, isDone: false });
  for (const { account, total } of mine)
    await moveAccount(folder, stack, account.name, (rows) => onProgress?.(account.name, rows, total));
  for (const { name } of accounts) await folder.vault.remove(name);
  await noteMove(folder, { stack: place, queueUrl, isDone: true });
  await folder.makeDurable();
  return facts;
}

/** @returns whether an earlier call has moved the account @throws {CommandError} if the stack has another one */
async function hasStack(
  { partnerAccounts, store }: Stack,
  { name, generation }: PartnerAccount,
  begun: MovedTo | undefined,
): Promise<boolean> {
  const there = await partnerAccounts.read(name);
  if (there && !there.moving && begun) return true;
  if (there?.moving && there.generation === generation) return false;
  if (there) throw failed('name-taken', { name });
  if (begun) throw failed('forgotten', { name });
  const books = await store.list('books', { prefix: `${name}/` });
  if (books.some((row) => Number(row.name.split('/')[1]) >= generation))
    throw failed('later-history', { name });
  return false;
}

async function figuresOf(folder: Folder, account: PartnerAccount) {
  const counts = { history: 0, aside: 0, dead: 0 } as Record<string, number>;
  for await (const page of rowsToMove(folder, account))
    for (const { key } of page) counts[key.kind] = (counts[key.kind] ?? 0) + 1;
  const { history: adverts = 0, aside: waiting = 0, dead: deadLetters = 0 } = counts;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { adverts, waiting, deadLetters, total };
}

/** A refresh token belongs to the client to which it was given. @returns false if the stack has no credentials yet */
async function isSameApplication({ applicationSecret }: Folder, stack: Stack): Promise<boolean> {
  const answer = await stack.askConnect({
    action: 'authorize',
    state: stack.newId(),
    redirectUri: 'http://127.0.0.1/',
  });
  // Of an older function, `wrong-shape`.
  const isEmpty = answer.kind === 'refused' && /^(wrong-shape|malformed-application)$/.test(answer.fault);
  if (isEmpty) return false;
  if (answer.kind !== 'authorize') throw new BridgeFault('malformed-state', 'the stack names no application');
  const { clientId } = await applicationSecret.read();
  if (new URL(answer.url).searchParams.get('client_id') === clientId.reveal()) return true;
  throw failed('other-application');
}

/** Writes on a condition that nothing meets. @throws the error of AWS if this user may not write there */
const mayWrite = ({ store }: Stack, kind: MovedRow['key']['kind']) =>
  store.put({ kind, name: 'move' }, {}, newEtag());

/** From now on the name belongs to this move, and nobody can connect it. */
async function reserve(
  { partnerAccounts }: Stack,
  { name, generation, connectedAt }: PartnerAccount,
  now: number,
): Promise<void> {
  const holds = [stopHold('disconnected', now)];
  if (await partnerAccounts.add({ name, generation, connectedAt, holds, moving: true })) return;
  const there = await partnerAccounts.read(name);
  if (!there?.moving || there.generation !== generation) throw accountBusy(name);
}

async function moveAccount(
  folder: Folder,
  stack: Stack,
  name: string,
  onRows: (rows: number) => void,
): Promise<void> {
  const { account, current } = await giveUp(folder, name);
  // A power cut must not give the token back to the folder.
  await folder.makeDurable();
  let copied = 0;
  for await (const page of rowsToMove(folder, account)) {
    // An earlier call has written what is there.
    await forEachConcurrent(page, rowsAtOnce, (row) => copy(row, stack.store, folder.clock));
    copied += page.length;
    onRows(copied);
  }
  const row = await rowOn(stack, folder, account, current);
  // The commit: from here on the account is the stack's.
  const moved = await stack.partnerAccounts.change(name, (there) => (there.moving ? row : undefined));
  if (!moved) throw failed('forgotten-meanwhile', { name });
}

async function copy({ key, value }: MovedRow, store: Store, clock: Clock): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      await store.put(key, value, 'absent');
      return;
    } catch (error) {
      const isThrottled = error instanceof Error && throttles.test(error.name);
      if (!isThrottled || attempt === maxAttempts) throw error;
      await clock.sleep(backoffMs(attempt, throttledBackoff));
    }
}

/** Under the lock of its tokens, so that no command refreshes them now; later none does, because the account is stopped. */
const giveUp = (folder: Folder, name: string) =>
  exclusively(folder, name, { deadlineMs: folder.clock.now() + waitMs }, async (lock) => {
    const now = folder.clock.now();
    const account = await lock.change((latest) => ({
      ...(stopOf(latest) ? latest : withHold(latest, stopHold('disconnected', now))),
      moving: true,
    }));
    if (!account) throw accountBusy(name);
    const current = account.token && (await newestPair(folder, account, { deadlineMs: now + waitMs }));
    return { account, current };
  });

/** The account's row in the stack, which polls it from then on. Its secret is stored first. */
async function rowOn(
  stack: Stack,
  folder: Folder,
  given: PartnerAccount,
  current: VersionedPair | undefined,
): Promise<PartnerAccount> {
  const { moving: _moving, refreshing: _lock, token, ...account } = given;
  const { name, generation, bridge = folder.bridgeName } = account;
  const { holds = [] } = await folder.budgetStore.read();
  const named = { ...withHoldsOfAll(account, holds), ...(bridge !== stack.name && { bridge }) };
  if (!current || !token) return named;
  const { follows: _follows, ...pair } = current.pair;
  const event = {
    action: 'store-pair',
    partnerAccount: name,
    pair: textOfPair({ ...pair, generation }),
  } as const;
  const { version } = await askFor(stack, 'stored', event);
  const { expiresAt, obtainedAt } = pair;
  const facts = current.version === token.version ? token : { expiresAt, usedAt: obtainedAt };
  const { expiresAt: expires, usedAt } = facts;
  // An account that was disconnected has no token: so this is the hold of the move.
  const isOfMove = stopOf(named)?.reason === 'disconnected';
  const free = isOfMove ? withoutHolds(named, ({ kind }) => kind === 'authorization') : named;
  return { ...free, token: { version, expiresAt: expires, usedAt } };
}

/** What the operator, or the service, asked of the whole folder, is asked of each of its accounts in the stack. */
const withHoldsOfAll = <T extends Holder>(account: T, holds: NonNullable<Holder['holds']>): T =>
  holds
    .filter(({ kind }) => kind === 'operator' || kind === 'service')
    .filter((hold) => !account.holds?.some(({ kind }) => kind === hold.kind))
    .reduce(withHold, account);

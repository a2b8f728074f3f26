/**
 * Rows of partner accounts as one process knows them. Whatever is read through it, for whichever purpose, is remembered
 * for a few seconds: so the token source finds the row that drain or fan-out have just read, and seldom reads it itself.
 */
import { type Clock, systemClock } from '../../domain/clock.ts';
import { PartnerError } from '../../domain/faults.ts';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import type { PartnerAccounts } from '../../ports/partner-accounts.ts';

/** How old the row may be that a request to the partner service relies on. Counts from before the row was asked for. */
const viewMaxAgeMs = 5_000;
/** How old the row may be for a request that is yet to come: it may have to wait for its turn. */
const takenMaxAgeMs = 3_000;
/** While requests wait for their turn the row is read again this long after it was read last. */
const readAgainMs = 4_000;
/** After a reading that failed. */
const retryMs = 500;
/** A reading that takes longer than a view lasts is no use; it is tried once more. */
const maxReads = 2;

export interface ViewedAccounts extends PartnerAccounts {
  /**
   * The row as it stood at most three seconds ago, and in `generation` if it has come to that by now: a view of
   * another generation is not believed, for it may be older than the caller. Callers side by side share one reading.
   *
   * @throws {PartnerError} `passing` when the row cannot be read in time; what the adapter throws
   */
  view(name: string, generation: number): Promise<PartnerAccount | undefined>;
  /** The row as it stood at most {@link viewMaxAgeMs} ago, without waiting for it; undefined when none is known. */
  seen(name: string): { readonly account: PartnerAccount | undefined } | undefined;
  /** Keeps what {@link seen} tells from growing too old, until the function that it returns is called. */
  keepInView(name: string): () => void;
}

interface View {
  readonly account: PartnerAccount | undefined;
  /** When the reading began. */
  readonly askedAt: number;
}

interface Watch {
  users: number;
  readonly ended: AbortController;
}

/** One for each process, in the place of `accounts`. */
export function createViewedAccounts(accounts: PartnerAccounts, clock: Clock = systemClock): ViewedAccounts {
  const views = new Map<string, View>();
  const readings = new Map<string, Promise<PartnerAccount | undefined>>();
  const watches = new Map<string, Watch>();

  const isFresh = ({ askedAt }: Pick<View, 'askedAt'>, maxAgeMs = viewMaxAgeMs) =>
    clock.now() - askedAt <= maxAgeMs;

  function remember(name: string, view: View): void {
    const known = views.get(name);
    if (!known || known.askedAt <= view.askedAt) views.set(name, view);
  }

  async function read(name: string) {
    const askedAt = clock.now();
    const found = await accounts.read(name);
    remember(name, { account: found?.value, askedAt });
    return found;
  }

  async function readInTime(name: string): Promise<PartnerAccount | undefined> {
    for (let reads = 1; reads <= maxReads; reads += 1) {
      const askedAt = clock.now();
      const found = await read(name);
      if (isFresh({ askedAt })) return found?.value;
    }
    throw new PartnerError('transient', `the row of partner account ${name} cannot be read in time`);
  }

  function readShared(name: string): Promise<PartnerAccount | undefined> {
    const running = readings.get(name);
    if (running) return running;
    const begun = readInTime(name).finally(() => readings.delete(name));
    readings.set(name, begun);
    return begun;
  }

  async function view(name: string, generation: number): Promise<PartnerAccount | undefined> {
    const known = views.get(name);
    if (known && isFresh(known, takenMaxAgeMs) && known.account?.generation === generation)
      return known.account;
    const running = readings.get(name);
    if (running) {
      const account = await running;
      if (account?.generation === generation) return account;
    }
    return readShared(name);
  }

  async function watch(name: string, { ended: { signal } }: Watch): Promise<void> {
    while (!signal.aborted) {
      const known = views.get(name);
      const dueAt = known && isFresh(known) ? known.askedAt + readAgainMs : clock.now() + retryMs;
      await clock.sleep(Math.max(0, dueAt - clock.now()), signal);
      if (signal.aborted) return;
      // Whoever relies on it finds it too old.
      if (views.get(name) === known) await readShared(name).catch(() => undefined);
    }
  }

  return {
    ...accounts,
    read,
    async list(onUnreadable) {
      const askedAt = clock.now();
      const listed = await accounts.list(onUnreadable);
      for (const account of listed) remember(account.name, { account, askedAt });
      return listed;
    },
    async write(account, expected) {
      views.delete(account.name);
      return accounts.write(account, expected);
    },
    async remove(name) {
      views.delete(name);
      return accounts.remove(name);
    },
    view,
    seen(name) {
      const known = views.get(name);
      return known && isFresh(known) ? known : undefined;
    },
    keepInView(name) {
      const running = watches.get(name) ?? { users: 0, ended: new AbortController() };
      running.users += 1;
      if (running.users === 1) {
        watches.set(name, running);
        void watch(name, running);
      }
      return () => {
        running.users -= 1;
        if (running.users > 0) return;
        watches.delete(name);
        running.ended.abort('not needed any more');
      };
    },
  };
}

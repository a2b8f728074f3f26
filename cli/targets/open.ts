/** Opens the bridge that a command acts on. Only the modules of its kind are loaded: SQLite or the AWS SDK. */
import type { HistoryPorts } from '../../operations/history/read-history.ts';
import type { StatusPorts } from '../../operations/status.ts';
import type { BridgeSettings } from '../../shared/contract/settings.ts';
import type { StoredLetters } from '../../shared/ports/dead-letters.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { explained, type Place } from '../shared/explain.ts';
import type { LocalTarget, StackTarget, Target } from '../shared/target.ts';
import type { LocalBridge, LocalOptions } from './local/bridge.ts';
import type { CatchUp } from './ports/catch-up.ts';
import type { Applications, Connections, Disconnections } from './ports/connections.ts';
import type { Examined } from './ports/examined.ts';
import type { Opening } from './ports/opening.ts';
import type { Pauses, Polls } from './ports/pauses.ts';
import type { EventTail } from './ports/tail.ts';
import type { StackBridge } from './stack/bridge.ts';

/** What a command needs from a bridge, and how each kind of bridge provides it. */
export interface Need<T> {
  local(bridge: LocalBridge): Promise<T>;
  stack(bridge: StackBridge): Promise<T>;
}

/**
 * Calls `work` with what it needs from the bridge, and closes everything afterwards.
 *
 * @throws {CommandError} with a message that says what to do
 */
export function withBridge<T, R>(
  target: Target,
  need: Need<T>,
  work: (needed: T, place: Place) => Promise<R>,
  options?: LocalOptions,
): Promise<R> {
  return target.kind === 'local'
    ? withLocal(target, async (bridge) => work(await need.local(bridge), bridge.place), options)
    : withStack(target, async (bridge) => work(await need.stack(bridge), bridge.place));
}

/** Like {@link withBridge}, for commands that only an embedded bridge supports. */
export function withLocal<R>(
  target: LocalTarget,
  work: (bridge: LocalBridge) => Promise<R>,
  options: LocalOptions = {},
): Promise<R> {
  return opened(target, async (opening) => {
    const { openLocalBridge } = await import('./local/bridge.ts');
    return work(await openLocalBridge(opening, options));
  });
}

/** Like {@link withBridge}, for commands that only a stack supports. */
export function withStack<R>(target: StackTarget, work: (bridge: StackBridge) => Promise<R>): Promise<R> {
  return opened(target, async (opening) => {
    const { openStackBridge } = await import('./stack/bridge.ts');
    return work(await openStackBridge(opening));
  });
}

/** Calls `work` with what `doctor` examines. The bridge need not exist, and nothing in it is changed. */
export function withExamined<R>(
  target: Target,
  work: (examined: Examined, place: Place) => Promise<R>,
): Promise<R> {
  if (target.kind === 'local') {
    return opened(target, async (opening) => {
      const { localExamined } = await import('./local/doctor/examined.ts');
      return work(localExamined(opening), opening.place);
    });
  }
  return opened(target, async (opening) => {
    const { stackExamined } = await import('./stack/doctor/examined.ts');
    return work(stackExamined(opening), opening.place);
  });
}

async function opened<T extends Target, R>(target: T, work: (opening: Opening<T>) => Promise<R>): Promise<R> {
  const place: Place = { target };
  const closers: (() => void)[] = [];
  try {
    return await work({ target, place, onClose: (close) => closers.push(close) });
  } catch (error) {
    throw explained(error, place);
  } finally {
    for (const close of closers.reverse()) close();
  }
}

export const applications: Need<Applications> = {
  local: async (bridge) => (await import('./local/connections.ts')).localApplications(bridge),
  stack: async (bridge) => (await import('./stack/connections.ts')).stackApplications(bridge),
};

/** @param settings only for an embedded bridge: a stack has its own */
export const connections = (settings: Partial<BridgeSettings>): Need<Connections> => ({
  local: async (bridge) => (await import('./local/connections.ts')).localConnections(bridge, settings),
  stack: async (bridge) => (await import('./stack/connections.ts')).stackConnections(bridge),
});

export const disconnections: Need<Disconnections> = {
  local: async (bridge) => (await import('./local/connections.ts')).localDisconnections(bridge),
  stack: async (bridge) => (await import('./stack/connections.ts')).stackDisconnections(bridge),
};

/** What the bridge knows about one advert, and on a stack its log lines. */
export const histories: Need<HistoryPorts> = {
  local: async (bridge) => (await import('./local/history.ts')).localHistory(bridge),
  stack: async (bridge) => (await import('./stack/history.ts')).stackHistory(bridge),
};

export const tails: Need<EventTail> = {
  local: async (bridge) => (await import('./local/tail.ts')).localTail(bridge),
  stack: async (bridge) => (await import('./stack/tail.ts')).stackTail(bridge),
};

export const statusPorts: Need<StatusPorts> = {
  local: async ({ state }) => state,
  stack: async (bridge) => (await import('./stack/status.ts')).stackStatusPorts(bridge),
};

export interface LettersAndAccounts {
  readonly letters: StoredLetters;
  readonly accounts: Pick<PartnerAccounts, 'list'>;
}

export const deadLetters: Need<LettersAndAccounts> = {
  local: async (bridge) => ({
    letters: (await import('./local/stored-letters.ts')).localLetters(bridge),
    accounts: bridge.state.partnerAccounts,
  }),
  stack: async (bridge) => (await import('./stack/stored-letters.ts')).stackLetters(bridge),
};

export const pauses: Need<Pauses> = {
  local: async (bridge) => (await import('./local/pauses.ts')).localPauses(bridge),
  stack: async (bridge) => (await import('./stack/pauses.ts')).stackPauses(bridge),
};

export const polls: Need<Polls> = {
  local: async (bridge) => (await import('./local/pauses.ts')).localPolls(bridge),
  stack: async (bridge) => (await import('./stack/pauses.ts')).stackPolls(bridge),
};

export const catchUp: Need<CatchUp> = {
  local: async (bridge) => (await import('./local/catch-up.ts')).localCatchUp(bridge),
  stack: async (bridge) => (await import('./stack/catch-up.ts')).stackCatchUp(bridge),
};

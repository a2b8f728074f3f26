/** What commands need of a bridge: each is loaded by itself, for the kind of bridge that is meant. */
import type { HistoryPorts } from '../../operations/history/read-history.ts';
import type { StatusPorts } from '../../operations/status.ts';
import type { StoredLetters } from '../../operations/stored-letters.ts';
import type { BridgeSettings } from '../../shared/contract/settings.ts';
import type { Audits } from '../../shared/ports/audits.ts';
import type { PartnerAccounts } from '../../shared/ports/partner-accounts.ts';
import type { Need } from './open.ts';
import type { Auditing, CatchUp } from './ports/catch-up.ts';
import type { Applications, Connections, Disconnections } from './ports/connections.ts';
import type { Pauses, Polls } from './ports/pauses.ts';
import type { EventTail } from './ports/tail.ts';

export const applications: Need<Applications> = {
  local: async (bridge) => (await import('./local/connections.ts')).localApplications(bridge),
  stack: async (bridge) => (await import('./stack/connections.ts')).stackApplications(bridge),
};

/** @param settings of an embedded bridge alone: a stack has its own */
export const connections = (settings: Partial<BridgeSettings>): Need<Connections> => ({
  local: async (bridge) => (await import('./local/connections.ts')).localConnections(bridge, settings),
  stack: async (bridge) => (await import('./stack/connections.ts')).stackConnections(bridge),
});

export const disconnections: Need<Disconnections> = {
  local: async (bridge) => (await import('./local/connections.ts')).localDisconnections(bridge),
  stack: async (bridge) => (await import('./stack/connections.ts')).stackDisconnections(bridge),
};

/** What the bridge knows of one advert, and on a stack the lines of its log. */
export const histories: Need<HistoryPorts> = {
  local: async (bridge) => (await import('./local/history.ts')).localHistory(bridge),
  stack: async (bridge) => (await import('./stack/history.ts')).stackHistory(bridge),
};

export const tails: Need<EventTail> = {
  local: async (bridge) => (await import('./local/tail.ts')).localTail(bridge),
  stack: async (bridge) => (await import('./stack/tail.ts')).stackTail(bridge),
};

export interface AuditedPorts extends StatusPorts {
  /** Of an embedded bridge alone. */
  readonly dailyAudits?: Pick<Audits, 'read'>;
}

export const statusPorts: Need<AuditedPorts> = {
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

/** @param settings of an embedded bridge alone: a stack has its own */
export const auditing = (settings: Partial<BridgeSettings>): Need<Auditing> => ({
  local: async (bridge) => (await import('./local/catch-up.ts')).localAuditing(bridge, settings),
  stack: async (bridge) => (await import('./stack/catch-up.ts')).stackAuditing(bridge),
});

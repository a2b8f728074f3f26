import type { HistoryPorts } from '../../../operations/history/read-history.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import type { LocalBridge } from './bridge.ts';
import { readRunSettings } from './run-settings.ts';
import { localLetters } from './stored-letters.ts';

export const localHistory = (bridge: Pick<LocalBridge, 'state' | 'target'>): HistoryPorts => ({
  ...bridge.state,
  letters: localLetters(bridge),
  isAtWork: () => isRunning(bridge.target.dir),
  async publishedEvents() {
    const { publishStatuses, publishPartnerAccounts } = await readRunSettings(bridge.state);
    return { publishStatuses, publishPartnerAccounts };
  },
});

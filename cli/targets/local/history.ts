import * as v from 'valibot';
import type { HistoryPorts } from '../../../operations/history/read-history.ts';
import { checkedJson } from '../../../shared/contract/checks.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import type { PublishedEvents } from '../../../shared/domain/published-events.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import type { EmbeddedState } from '../../../shared/sqlite/state.ts';
import type { LocalBridge } from './bridge.ts';
import { localLetters } from './stored-letters.ts';

/** Under this name stands, among the state's settings, which events the latest `run` published at all. */
const publishedEventsSetting = 'published-events';

const { publishStatuses, publishPartnerAccounts } = bridgeSettings;

/** For `history`: an embedded bridge has its settings from the command line of its run. */
export const storePublishedEvents = (
  { settings }: Pick<EmbeddedState, 'settings'>,
  { publishStatuses, publishPartnerAccounts }: PublishedEvents,
): Promise<void> =>
  settings.write(publishedEventsSetting, JSON.stringify({ publishStatuses, publishPartnerAccounts }));

export const localHistory = (bridge: Pick<LocalBridge, 'state' | 'target'>): HistoryPorts => ({
  ...bridge.state,
  letters: localLetters(bridge),
  isAtWork: () => isRunning(bridge.target.dir),
  async publishedEvents() {
    const text = (await bridge.state.settings.read(publishedEventsSetting)) ?? '{}';
    return checkedJson(
      v.object({ publishStatuses, publishPartnerAccounts }),
      text,
      'settings of the latest run',
    );
  },
});

import * as v from 'valibot';
import { checkedJson } from '../../../shared/contract/checks.ts';
import { type BridgeSettings, bridgeSettings } from '../../../shared/contract/settings.ts';
import type { EmbeddedState } from '../../../shared/sqlite/state.ts';

/** The latest `run`'s settings stand under this name among those of the state. */
const name = 'published-events';

const { publishStatuses, publishPartnerAccounts, maxRequestsPerSecond, overlapSeconds } = bridgeSettings;
const runSettings = v.object({
  ...{ publishStatuses, publishPartnerAccounts },
  // An earlier version has not stored these.
  ...{ maxRequestsPerSecond, overlapSeconds },
});
type RunSettings = v.InferOutput<typeof runSettings>;
type Settings = Pick<EmbeddedState, 'settings'>;

/** For other commands: an embedded bridge has its settings from the command line of its run. */
export function storeRunSettings({ settings }: Settings, run: BridgeSettings): Promise<void> {
  const { publishStatuses, publishPartnerAccounts, maxRequestsPerSecond, overlapSeconds } = run;
  const stored: RunSettings = {
    ...{ publishStatuses, publishPartnerAccounts },
    ...{ maxRequestsPerSecond, overlapSeconds },
  };
  return settings.write(name, JSON.stringify(stored));
}

/** Those of the latest run; before the first one the defaults. */
export async function readRunSettings({ settings }: Settings): Promise<RunSettings> {
  return checkedJson(runSettings, (await settings.read(name)) ?? '{}', 'settings of the latest run');
}

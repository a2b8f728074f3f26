import * as v from 'valibot';
import { checkedJson } from '../../../shared/contract/checks.ts';
import { type BridgeSettings, bridgeSettings } from '../../../shared/contract/settings.ts';
import type { EmbeddedState } from '../../../shared/sqlite/state.ts';

/** The latest `run`'s settings stand under this name among those of the state. */
const name = 'published-events';

/**
 * What is published, which feeds are polled, and how the partner service is asked: whatever asks it beside a run goes by the same.
 * A token that was refreshed by another `requiredScope` would stop its partner account. An earlier version has stored some of them.
 */
const runSettings = v.pick(v.object(bridgeSettings), [
  ...(['publishStatuses', 'publishPartnerAccounts', 'feeds'] as const),
  ...(['requiredScope', 'acceptLanguage', 'overlapSeconds'] as const),
  ...(['maxRequestsPerSecond', 'circuitSeconds', 'maxPauseSeconds'] as const),
]);
type RunSettings = v.InferOutput<typeof runSettings>;
type Settings = Pick<EmbeddedState, 'settings'>;

/** For other commands: an embedded bridge has its settings from the command line of its run. */
export const storeRunSettings = ({ settings }: Settings, run: BridgeSettings): Promise<void> =>
  settings.write(name, JSON.stringify(v.parse(runSettings, run)));

/** Those of the latest run; before the first one the defaults. */
export async function readRunSettings({ settings }: Settings): Promise<RunSettings> {
  return checkedJson(runSettings, (await settings.read(name)) ?? '{}', 'settings of the latest run');
}

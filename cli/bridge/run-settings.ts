import * as v from 'valibot';
import { checkedJson } from '../../shared/contract/checks.ts';
import { type BridgeSettings, bridgeSettingsSchema } from '../../shared/contract/settings.ts';
import type { EmbeddedState } from '../../shared/sqlite/state.ts';

const name = 'published-events';

/** Those that other commands must share: a refresh with another `requiredScope` would stop its partner account. */
const runSettings = v.pick(bridgeSettingsSchema, [
  ...(['publishStatuses', 'publishPartnerAccounts'] as const),
  ...(['requiredScope', 'acceptLanguage', 'overlapSeconds'] as const),
  ...(['maxRequestsPerSecond', 'circuitSeconds', 'maxPauseSeconds'] as const),
]);
type RunSettings = v.InferOutput<typeof runSettings>;
type Settings = Pick<EmbeddedState, 'settings'>;

/** Stores the settings for other commands: an embedded bridge gets its settings from the command line of its run. */
export const storeRunSettings = ({ settings }: Settings, run: BridgeSettings): Promise<void> =>
  settings.write(name, JSON.stringify(v.parse(runSettings, run)));

export async function readRunSettings({ settings }: Settings): Promise<RunSettings> {
  return checkedJson(runSettings, (await settings.read(name)) ?? '{}', 'settings of the latest run');
}

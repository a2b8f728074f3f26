import { settledBy } from '../../../functions/audit/confirm.ts';
import type { BridgeSettings } from '../../../shared/contract/settings.ts';
import type { Auditing } from '../ports/auditing.ts';
import type { LocalBridge } from './bridge.ts';
import { localCatchUp } from './catch-up.ts';

/** Auditing the embedded state, beside a `run` of the same folder or without one. */
export async function localAuditing(
  bridge: LocalBridge,
  settings: Partial<BridgeSettings>,
): Promise<Auditing> {
  const { audits, advertHistories, publishedAdverts, waitingMessages } = bridge.state;
  return {
    ...(await localCatchUp(bridge, settings)),
    ...{ audits, publishedAdverts, histories: advertHistories },
    isSettled: settledBy(waitingMessages),
  };
}

/** What `doctor` looks at on an embedded bridge. Its folder is only read: not even SQLite's own files in it change. */
import * as v from 'valibot';
import { createLocalConnect } from '../../../../embedded/connect.ts';
import { SkippedError } from '../../../../operations/doctor.ts';
import { silentObserver } from '../../../../operations/poll-deps.ts';
import { readStatus } from '../../../../operations/status.ts';
import { bridgeSettingsSchema } from '../../../../shared/contract/settings.ts';
import { isRunning } from '../../../../shared/sqlite/file/run-lock.ts';
import { type EmbeddedState, openEmbeddedStateToRead } from '../../../../shared/sqlite/state.ts';
import type { BudgetStore } from '../../../../shared/state/budget.ts';
import { baseUrlSetting } from '../../../bridge/folder.ts';
import type { Opening } from '../../../bridge/opening.ts';
import type { LocalTarget } from '../../../shared/target.ts';
import type { Examined } from '../../ports/examined.ts';
import { folderChecks } from './folder.ts';
import { nodeCheck } from './node.ts';
import { stateChecks, withoutRest } from './state.ts';

/** Time limit for the single request to the service. */
const serviceMs = 20_000;

export function localExamined({ target, place, onClose }: Opening<LocalTarget>): Examined {
  let opened: EmbeddedState | undefined;

  /** Opened by the first check that needs it. */
  function state(): EmbeddedState {
    if (opened) return opened;
    try {
      opened = openEmbeddedStateToRead(target.dir);
    } catch {
      throw new SkippedError('needs a state file that can be read: see state-file');
    }
    onClose(() => opened?.close());
    return opened;
  }

  const status = async () => readStatus({ ...state(), isRunning: () => isRunning(target.dir) }, Date.now());
  return {
    checks: [
      nodeCheck(process.versions.node),
      ...folderChecks(target),
      ...stateChecks(target, { state, status }),
    ],
    status: async () => withoutRest(await status(), target),
    async askService() {
      const { settings, ...ports } = state();
      place.baseUrl = await settings.read(baseUrlSetting);
      if (place.baseUrl === undefined) throw new SkippedError('needs a base URL: see application');
      const connect = createLocalConnect({
        state: { settings, ...ports, budgetStore: unstored(ports.budgetStore) },
        baseUrl: place.baseUrl,
        settings: v.parse(bridgeSettingsSchema, {}),
        observer: silentObserver,
      });
      onClose(() => connect.close());
      return connect.check({ deadlineMs: Date.now() + serviceMs });
    },
  };
}

/**
 * The current rate budget, whose changes are not stored: the request waits for its turn, but a concurrent `run` does
 * not know about it.
 */
const unstored = (store: BudgetStore): BudgetStore => ({
  read: store.read,
  change: async (rule) => rule(await store.read()),
});

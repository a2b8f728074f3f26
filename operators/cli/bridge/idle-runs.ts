import * as v from 'valibot';
import type { EmbeddedState } from '../../../embedded/state/state.ts';
import { checkedJson } from '../../../shared/contract/checks.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import type { IdleRun } from '../../operations/printed.ts';

const setting = 'idle-runs';
/** Enough for the longest of a few intervals: a run that somebody starts in between does not make them shorter. */
const keptEnds = 4;
const idleRuns = v.object({ isIdle: v.boolean(), ends: v.array(v.number()) });

/** When runs with `--until-idle` ended by themselves: from it, status knows how often something such as cron starts them. */
export function idleRunsIn(settings: EmbeddedState['settings']) {
  const read = async () => {
    const stored = (await settings.read(setting)) ?? '{"isIdle":false,"ends":[]}';
    return checkedJson(idleRuns, stored, 'latest idle runs');
  };
  const write = (value: v.InferInput<typeof idleRuns>) => settings.write(setting, JSON.stringify(value));
  return {
    begin: async () => write({ ...(await read()), isIdle: false }),
    async end(nowMs: number) {
      const { ends } = await read();
      await write({ isIdle: true, ends: [...ends, nowMs].slice(-keptEnds) });
    },
    async last(): Promise<IdleRun | null> {
      const { isIdle, ends } = await read();
      const gaps = ends.slice(1).map((end, index) => end - (ends[index] ?? end));
      const everySeconds = gaps.length > 0 ? Math.ceil(Math.max(...gaps) / 1000) : null;
      return isIdle ? { endedAt: toInstant(ends.at(-1) ?? 0), everySeconds } : null;
    },
  };
}

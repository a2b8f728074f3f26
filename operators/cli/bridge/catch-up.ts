/** What backfill, audit and resync have in common. */
import { text as textOf } from 'node:stream/consumers';
import * as v from 'valibot';
import { advertIdPattern } from '../../../shared/contract/checks.ts';
import { stopOf } from '../../../shared/domain/partner-account.ts';
import type { BackfillKey } from '../../../shared/state/progress.ts';
import { type Bridge, isDelivering } from '../../operations/bridge.ts';
import { failed, knownAccount } from '../../operations/errors.ts';
import type { Call } from '../shared/command.ts';
import type { Io } from '../shared/io.ts';
import { number, option } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { readTextFile } from '../shared/secret-input.ts';
import type { Target } from '../shared/target.ts';
import { are, count, duration } from '../shared/wording.ts';
import { withBridge } from './open.ts';

/** Calls `work` for a connected account. @returns its result, and what waits in the queue then with the next command */
export function catchUp<R>(
  { io, target, command }: Pick<Call<Target, unknown>, 'io' | 'target' | 'command'>,
  name: string,
  work: (bridge: Bridge, key: BackfillKey, show: (line: string) => void) => Promise<R>,
): Promise<[result: R, next: string]> {
  return withBridge(target, async (bridge) => {
    const account = await knownAccount(bridge.partnerAccounts, name);
    const stop = stopOf(account);
    if (stop) throw failed('stopped', { name, reason: stop.reason }, target);
    const key = { partnerAccount: name, generation: account.generation };
    const result = await withProgress(io, (show) => work(bridge, key, show));
    const { maxRequestsPerSecond } = await bridge.settings();
    const waiting = await bridge.queue.depth(name);
    const next = command(isDelivering(bridge) ? `status ${name}` : 'run');
    const takes = `${duration(waiting / maxRequestsPerSecond)} at ${maxRequestsPerSecond}/s`;
    return [result, `${are(waiting, 'message waits', 'messages wait')} (${takes}). Next: ${next}`];
  });
}

/** Such as `200 of 1,000 adverts listed, 80 s left at 10/s`. */
export function walkText(done: number, total: number | undefined, verb: string, perSecond: number): string {
  if (total === undefined) return `${count(done)} adverts ${verb}`;
  const left = `${duration((total - done) / perSecond)} left at ${perSecond}/s`;
  return `${count(done)} of ${count(total)} adverts ${verb}, ${left}`;
}

/** One per line; `-` is standard input. @throws {CommandError} if a line is not an ID: then none is queued */
export async function readIds(io: Io, file: string): Promise<readonly string[]> {
  const text = file === '-' ? await textOf(io.stdin) : await readTextFile(file, `IDs (${file})`);
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const wrong = lines.findIndex((line) => line !== '' && !advertIdPattern.test(line));
  if (wrong >= 0) throw failed('not-ids', { file: file === '-' ? 'standard input' : file, line: wrong + 1 });
  const ids = [...new Set(lines.filter((line) => line !== ''))];
  if (ids.length === 0) throw failed('no-ids');
  return ids;
}

const parameter = v.optional(
  v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.[\]-]{1,64}$/, 'expected the name of a query parameter')),
);

/** How the partner service's advert list is paged: an assumption, because docs/partner-api.md does not say it. */
export const pagingOptions = {
  paging: option(
    'STYLE',
    'assumed way in which the list is paged: page, offset or none',
    v.optional(v.picklist(['page', 'offset', 'none'], 'expected page, offset or none'), 'page'),
  ),
  pageSize: number('assumed largest page of the list, 1–1000', 1, 1000, 100),
  positionParameter: option('NAME', 'name of the page or offset parameter, if it is another one', parameter),
  limitParameter: option('NAME', 'name of the page size parameter, if it is not limit', parameter),
};

import {
  type AuditDeps,
  type AuditOptions,
  type AuditStep,
  audit,
} from '../../../../functions/audit/audit.ts';
import { settledBy } from '../../../../functions/audit/confirm.ts';
import { type AuditSource, sampleSource } from '../../../../functions/audit/sources.ts';
import { repairBy } from '../../../../operations/audit/repair.ts';
import type { FeedReader } from '../../../../shared/ports/feed-reader.ts';
import { createWorld } from '../../../helpers/world.ts';

/** A bridge in memory, with adverts that were published, and what an audit needs of it. */
export async function createAuditedWorld(adverts: number) {
  const world = await createWorld();
  const { clock, service, state, drainDeps } = world;
  const generation = (await world.account())?.generation ?? 0;
  const key = { partnerAccount: 'main', generation };
  const steps: AuditStep[] = [];
  /** When each change of the feed was recorded. */
  const recordedAt: number[] = [];
  const ids = Array.from({ length: adverts }, (_, index) => String(1_000 + index));

  /** Makes a change that the feed lists. @param status null: the service does not know the advert any more */
  function change(advertId: string, status: string | null): void {
    recordedAt.push(clock.now());
    if (status === null) service.remove(advertId);
    else service.change(advertId, status);
  }

  /** The service's feed begins at the first change after `since`. */
  const reader: FeedReader = {
    readPage(account, query, options) {
      const after = recordedAt.filter((at) => at <= Date.parse(query.since)).length;
      return service.readPage(account, { ...query, cursor: query.cursor ?? String(after) }, options);
    },
  };

  /** Polls the feed, and settles all that it lists. */
  async function catchUp(): Promise<void> {
    await world.round();
    for (;;) {
      const settled = await world.handleBatch(100);
      if (settled.length === 0) return;
      if (settled.some(({ verdict }) => verdict.kind === 'retry')) clock.advance(31_000);
    }
  }

  /** Lets the bridge publish something that is not so: what a lost change leaves behind. */
  async function corrupt(advertId: string, status: string | null): Promise<void> {
    const row = await state.advertHistories.read({ ...key, feed: 'adverts', advertId });
    if (!row) throw new Error(`advert ${advertId} has no row`);
    const changed = { ...row, status, version: row.version + 1 };
    await state.advertHistories.write({ ...key, feed: 'adverts', advertId }, changed);
  }

  const deps: AuditDeps = {
    poll: { ...drainDeps, reader, settings: { ...drainDeps.settings, maxRequestsPerSecond: 10 } },
    audits: state.audits,
    histories: state.advertHistories,
    adverts: service,
    isSettled: settledBy(state.waitingMessages),
    isDelivering: () => true,
    onProgress: (step) => steps.push(step),
  };
  const run = (
    source: AuditSource,
    { repair, ...options }: Partial<Omit<AuditOptions, 'repair'>> & { readonly repair?: boolean } = {},
    more: Partial<AuditDeps> = {},
  ) =>
    audit({ ...deps, ...more }, key, source, {
      ...{ signal: new AbortController().signal, ...options },
      repair: repair ? repairBy({ ...drainDeps, reader }, key) : undefined,
    });
  const sample = (size: number) => sampleSource(state.publishedAdverts, key, size);

  for (const id of ids) change(id, 'active');
  await catchUp();
  clock.advance(600_000);
  await catchUp();

  return { ...world, key, ids, deps, steps, change, catchUp, corrupt, run, sample };
}

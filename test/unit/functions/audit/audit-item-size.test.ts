import { expect, it } from 'vitest';
import { namedSource } from '../../../../operations/audit/sources.ts';
import { PartnerError } from '../../../../shared/domain/faults.ts';
import type { Audits } from '../../../../shared/ports/audits.ts';
import { createAuditedWorld } from './world.ts';

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html: 400 KB an item. */
const mostBytes = 400 * 1024;

it('an audit comes to an end, although the answers about many adverts cannot be read', async () => {
  const world = await createAuditedWorld(0);
  const { service, deps, run } = world;
  service.state.beforeAdvert = () => {
    throw new PartnerError('contract-broken', 'no status');
  };
  const audits: Audits = {
    ...deps.audits,
    async write(key, progress, expected, listed) {
      if (JSON.stringify(progress).length > mostBytes)
        throw new Error('ValidationException: Item size to update has exceeded the maximum allowed size');
      return deps.audits.write(key, progress, expected, listed);
    },
  };
  const ids = Array.from({ length: 40_000 }, (_, index) => String(1_000_000_000 + index));
  const named = namedSource({
    name: 'ids',
    page: async (position) => {
      const data = ids.slice(position, position + 1_000);
      return data.length === 0 ? undefined : { data, next: position + data.length };
    },
  });

  const { end } = await run(named, {}, { audits });

  expect(['done', 'too-many']).toContain(end);
}, 120_000);

/**
 * Compares, byte for byte, what an embedded bridge stores and publishes for adverts with the form before there was a
 * second feed. A difference means that state files or events of existing bridges change. If this is intended, update
 * the file with `-u`.
 */
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { stateFileIn } from '../../../embedded/state/file/private-folder.ts';
import { openEmbeddedState } from '../../../embedded/state/state.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { createCachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import { tokenHold } from '../../helpers/holds.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';
import { createWorld } from '../../helpers/world.ts';

const newFolder = scratchFolders();
const tables = ['messages', 'rows', 'events'];

it('rows, messages and events of adverts are what they were', async () => {
  const { clock, service, drainDeps, fanOutDeps, events } = await createWorld();
  const dir = newFolder();
  const state = openEmbeddedState(dir, { clock });
  const { queue, partnerAccounts, eventLog } = state;
  const drain = createDrain({
    ...{ ...drainDeps, partnerAccounts, queue, deadLetters: state.deadLetters },
    ...{ feedStates: state.feedStates, aside: state.aside },
  });
  const fanOut = createFanOut({
    ...{
      ...fanOutDeps,
      partnerAccounts: createCachedAccounts(partnerAccounts, clock),
      advertHistories: state.advertHistories,
    },
  });
  const round = async () => {
    clock.advance(60_000);
    await drain.round({ deadlineMs: clock.now() + 60_000 });
    const batch = await queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
    await queue.settle(await fanOut.handle(batch, { deadlineMs: clock.now() + 60_000 }));
  };
  await partnerAccounts.add(partnerAccount());
  await state.feedStates.register(feedState());

  service.change('7', 'new');
  service.change('8', 'new');
  service.change('7', 'new');
  service.list('no advert');
  await round();
  service.change('7', 'active');
  service.remove('8');
  await round();
  service.change('9', 'new');
  await round();
  service.change('7', 'sold');
  await drain.round({ deadlineMs: clock.now() + 60_000 });
  const holds = [tokenHold(clock.now() + 600_000)];
  await partnerAccounts.change('main', () => partnerAccount({ holds }));
  await round();
  for (const event of events.accepted) await eventLog.append(event);
  await state.close();

  using db = new DatabaseSync(stateFileIn(dir));
  const rows = tables.flatMap((table) => [
    `-- ${table}`,
    ...db
      .prepare(`SELECT * FROM ${table}`)
      .all()
      .map(({ etag: _etag, ...one }) => JSON.stringify(one)),
  ]);
  await expect(`${[...rows, '-- events', ...events.accepted].join('\n')}\n`).toMatchFileSnapshot(
    'in-state-file.txt',
  );
});

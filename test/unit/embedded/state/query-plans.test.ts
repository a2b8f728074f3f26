import { expect, it, vi } from 'vitest';
import { createMessageTable } from '../../../../embedded/state/changed-adverts-queue.ts';
import { createConnection } from '../../../../embedded/state/file/connection.ts';
import { openStateFile } from '../../../../embedded/state/file/state-file.ts';
import { createRowStore } from '../../../../embedded/state/store.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();

/** The tables that grow, and what may be done with them: a search by a key or an index, not a walk. */
const cheap = /^SEARCH (messages|rows) USING (INTEGER PRIMARY KEY|(COVERING )?INDEX)/;
const growing = /messages|rows|TEMP B-TREE/;

it('queries of queue and rows cost the same however much there is', () => {
  const db = openStateFile(folder());
  const connection = createConnection(db, 'the file');
  const prepare = vi.spyOn(connection, 'prepare');
  createMessageTable(connection);
  createRowStore(connection);

  // Only a person's command looks for the messages of one advert.
  const often = prepare.mock.calls.filter(([sql]) => !sql.includes('advertId'));
  const plans = often.flatMap(([sql]) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => ({ detail: String(detail), sql })),
  );
  connection.close();

  expect(often.length).toBeGreaterThan(10);
  expect(plans.filter(({ detail }) => growing.test(detail) && !cheap.test(detail))).toEqual([]);
});

import { describe, expect, it } from 'vitest';
import { createChangedAdvertsQueue } from '../../../shared/sqlite/changed-adverts-queue.ts';
import { createConnection } from '../../../shared/sqlite/file/connection.ts';
import { stateFileIn } from '../../../shared/sqlite/file/private-folder.ts';
import { openStateFile } from '../../../shared/sqlite/file/state-file.ts';
import { createRowStore } from '../../../shared/sqlite/store.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();

/** The tables that grow, and what may be done with them: a search by a key or an index, not a walk. */
const cheap = /^SEARCH (messages|sent_keys|rows) USING (INTEGER PRIMARY KEY|PRIMARY KEY|(COVERING )?INDEX)/;
const growing = /messages|sent_keys|rows|TEMP B-TREE/;

describe('the plans of queries', () => {
  it('cost the same however much there is', () => {
    const dir = folder();
    const db = openStateFile(dir);
    const asked = new Set<string>();
    const store = createConnection(db, stateFileIn(dir));
    const listening = {
      ...store,
      prepare(sql: string) {
        asked.add(sql);
        return store.prepare(sql);
      },
    };
    const rows = createRowStore(listening);
    createChangedAdvertsQueue({ connection: listening, rows, clock: Date });

    const costly = [...asked].flatMap((sql) =>
      db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail))
        .filter((detail) => growing.test(detail) && !cheap.test(detail))
        .map((detail) => ({ detail, sql })),
    );
    store.close();

    expect(asked.size).toBeGreaterThan(10);
    expect(costly).toEqual([]);
  });
});

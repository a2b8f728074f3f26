import type { BackfillProgress, Backfills } from '../ports/backfills.ts';
import type { Documents } from './file/documents.ts';
import { createProgress } from './file/progress.ts';
import type { Store } from './file/store.ts';

/** Progress of backfills in the state file. */
export const createBackfills = (store: Store, documents: Documents): Backfills =>
  createProgress<BackfillProgress>(store, documents, 'backfill');

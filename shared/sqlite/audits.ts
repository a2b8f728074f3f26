import type { AuditKind, AuditProgress, Audits } from '../ports/audits.ts';
import type { Documents } from './file/documents.ts';
import { createProgress } from './file/progress.ts';
import type { Store } from './file/store.ts';

/** Progress of audits in the state file. */
export const createAudits = (store: Store, documents: Documents, kind: AuditKind): Audits =>
  createProgress<AuditProgress>(store, documents, kind);

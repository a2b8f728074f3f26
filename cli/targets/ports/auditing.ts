import type { AuditDeps } from '../../../functions/audit/audit.ts';
import type { PublishedAdverts } from '../../../shared/ports/advert-histories.ts';
import type { CatchUp } from './catch-up.ts';

/** What `audit` asks of a bridge, whichever kind it is. */
export interface Auditing extends CatchUp, Pick<AuditDeps, 'audits' | 'histories' | 'isSettled'> {
  readonly publishedAdverts: PublishedAdverts;
}

import { namesText } from '../../operations/errors.ts';
import type { Finding } from '../../operations/findings.ts';
import type { Status } from '../../operations/status.ts';

/** Of the whole bridge: while one of them lasts, nothing is delivered. */
const standstills =
  'older-copy operator-paused not-running not-responding circuit held table schedule mapping function no-account'.split(
    ' ',
  );
/** The first that is found is the cause. */
const delays: readonly string[] = ['rate-limited', 'late', 'lagging'];
const maxNames = 5;

/** The first line of `status`: is it delivering? */
export function deliveryText(status: Status, findings: readonly Finding[]): string {
  // A hold of the service that has just begun is only a note.
  const isOnlyReader = status.webhooks?.length === 0;
  const standstill = findings.find(
    ({ what, severity, partnerAccount }) =>
      partnerAccount === null &&
      (standstills.includes(what) || (what === 'output' && isOnlyReader)) &&
      !(what === 'held' && severity === 'note'),
  );
  const faults = findings.filter(
    ({ severity, what }) => (severity === 'fault' && !delays.includes(what)) || what === 'operator-paused',
  );
  const hit = [...new Set(faults.flatMap(({ partnerAccount }) => partnerAccount ?? []))];
  // What was disconnected on purpose is not missed.
  const connected = status.partnerAccounts.filter(({ reason }) => reason !== 'disconnected');
  const isAll = hit.length === connected.length;
  const cause = standstill ?? faults.find(({ partnerAccount }) => isAll && partnerAccount !== null);
  if (cause) return `Not delivering${causeText(cause)}`;
  const late = delays.flatMap((delay) => findings.find(({ what }) => what === delay) ?? [])[0];
  if (late) return `Late${causeText(late)}`;
  const exceptions = [
    hit.length > 0 && `not for ${namesText(hit, maxNames)}`,
    faults.some(({ what }) => what === 'webhook') && 'not to every webhook',
    faults.some(({ what }) => what === 'output') && 'not to standard output',
    faults.some(({ what }) => what === 'backlog') && 'not every event',
    faults.some(({ what }) => what === 'unreadable-row') && 'not what cannot be read',
    faults.some(({ what, partnerAccount }) => what === 'secret-deleted' && !partnerAccount) &&
      'not once tokens run out',
    findings.some(({ what }) => what === 'age-unknown') && 'it is not known how late',
  ].filter((one) => one);
  return exceptions.length === 0 ? 'Delivering.' : `Delivering, but ${exceptions.join(', and ')}.`;
}

const causeText = ({ since, says }: Finding): string => `${since === null ? '' : ` since ${since}`}: ${says}`;

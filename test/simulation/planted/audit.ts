/** Rules of the audit, left out: how a difference is told from a change. */
import { type PlantedFault, plantedSource } from './planted-fault.ts';

const inConfirm = (name: string, from: string, to: string) =>
  plantedSource(name, [
    { folder: 'operations', entry: 'audit/audit.ts', replacements: [{ file: 'audit/confirm.ts', from, to }] },
  ]);

export const plantedInAudit: readonly PlantedFault[] = [
  inConfirm(
    'audit-does-not-wait',
    'await sleepFor(clock, settings.overlapSeconds * 1000, deps.signal, deps.onWaiting);',
    'await sleepFor(clock, 0 * settings.overlapSeconds, deps.signal, deps.onWaiting);',
  ),
  inConfirm(
    'audit-before-settled',
    'const waiting = await untilSettled(deps, key.partnerAccount, open);',
    'const waiting = await untilSettled(deps, key.partnerAccount, []);',
  ),
  inConfirm(
    'audit-without-feed',
    'const changed = await changedSince(deps, key, from);',
    'const changed = new Set<string>(from.slice(0, 0));',
  ),
];

/**
 * Planted faults in the audit: how it distinguishes a difference from a change, and that no single advert may stop
 * it.
 */
import { type PlantedFault, plantedSource } from './planted-fault.ts';

const inAudit = (file: string, name: string, from: string, to: string) =>
  plantedSource(name, [{ folder: 'functions', entry: 'audit/audit.ts', replacements: [{ file, from, to }] }]);

const inConfirm = (name: string, from: string, to: string) => inAudit('audit/confirm.ts', name, from, to);

export const plantedInAudit: readonly PlantedFault[] = [
  inConfirm('audit-does-not-wait', 'lookedAt + overlapSeconds * 1000;', 'lookedAt + 0 * overlapSeconds;'),
  inConfirm(
    'audit-before-settled',
    'const waiting = await untilSettled(deps, key.partnerAccount, before.looks);',
    'const waiting = await untilSettled(deps, key.partnerAccount, []);',
  ),
  inConfirm(
    'audit-without-feed',
    'const changed = await changedSince(deps, key, before.since);',
    'const changed = new Set<string>(before.since.slice(0, 0));',
  ),
  inAudit(
    'audit/looks.ts',
    'audit-held-up-by-one',
    'if (error instanceof OneFailsError) return undefined;',
    'if (error instanceof OneFailsError) throw error;',
  ),
];

/** A planted fault in the audit. */
import { type PlantedFault, plantedSource } from './planted-fault.ts';

export const plantedInAudit: readonly PlantedFault[] = [
  plantedSource('audit-before-settled', [
    {
      folder: 'operations',
      entry: 'audit.ts',
      replacements: [
        {
          file: 'audit.ts',
          from: 'row.by === message || (isEmpty && row.etag !== etag)',
          to: 'true',
        },
      ],
    },
  ]),
];

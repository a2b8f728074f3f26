/**
 * Planted faults in waiting messages: their delays, when they are dead-lettered, and where they wait during a pause.
 */

import type { SimWorld } from '../world/sim-world.ts';
import { type PlantedFault, plantedSource, plantedWiring } from './planted-fault.ts';

const folder = 'functions/fan-out';
const entry = 'fan-out.ts';

/** The longest pause that each world has had. */
const longest = new WeakMap<SimWorld, number>();

export const plantedInWaiting: readonly PlantedFault[] = [
  plantedSource('delay-does-not-grow', [
    {
      folder,
      entry,
      replacements: [
        {
          file: 'redelivery.ts',
          from: 'return Math.max(waitMs, Math.min(fault.retryAfterMs ?? 0, longestHiddenMs));',
          to: 'return fault.retryAfterMs ?? waitMs;',
        },
        {
          file: 'redelivery.ts',
          from: 'Math.max(askedMs, minDelayMs(',
          to: 'Math.min(askedMs, 1e9 + minDelayMs(',
        },
      ],
    },
  ]),
  plantedSource('no-giving-up', [
    {
      folder,
      entry,
      replacements: [
        { file: entry, from: 'if (head.receives > maxReceives)', to: 'if (head.receives > 1e9)' },
      ],
    },
  ]),
  plantedSource('given-up-without-owed', [
    {
      folder,
      entry,
      replacements: [
        {
          file: 'fan-out.ts',
          from: 'return deadLetterOldest(deps, group, deadLetterOf(head, { fault, reason }, clock.now()), 0);',
          to: "const letter = deadLetterOf(head, { fault, reason }, clock.now());\n    return [{ delivery: head, verdict: { kind: 'dead-letter', letter } }, ...sendBack(group.slice(1), 0, random)];",
        },
      ],
    },
  ]),
  plantedSource('parked-without-owed', [
    {
      folder,
      entry,
      replacements: [
        {
          file: 'leave-queue.ts',
          from: 'const mayLeave = !isRedelivered ||',
          to: 'const mayLeave = isRedelivered || true ||',
        },
      ],
    },
  ]),
  plantedSource('stopped-wait-in-queue', [
    {
      folder,
      entry,
      replacements: [
        {
          file: 'leave-queue.ts',
          from: "return group.map((delivery) => ({ delivery, verdict: { kind: 'park' } }));",
          to: 'return sendBack(group, 60_000, random);',
        },
      ],
    },
  ]),
  plantedWiring('early-end-not-noticed', {
    ports: (ports, world) => ({
      ...ports,
      async bridgePausedUntil() {
        const untilMs = Math.max(longest.get(world) ?? 0, await ports.bridgePausedUntil());
        longest.set(world, untilMs);
        return untilMs;
      },
    }),
  }),
  plantedSource('mark-after-messages', [
    {
      folder: 'shared/aws/parking',
      entry: 'parking.ts',
      replacements: [
        {
          file: 'parking.ts',
          from: '      // The marks first: messages',
          to: '      await lot.put(parked);\n      // The marks first: messages',
        },
        { file: 'parking.ts', from: '      }\n      await lot.put(parked);', to: '      }' },
      ],
    },
  ]),
  plantedSource('young-mark-removed', [
    {
      folder: 'shared/aws/parking',
      entry: 'parking.ts',
      replacements: [{ file: 'parking.ts', from: '> keepMarkMs)', to: '> -1e9)' }],
    },
  ]),
  plantedSource('mark-removed-before-messages', [
    {
      folder: 'shared/aws/parking',
      entry: 'parking.ts',
      replacements: [
        {
          file: 'parking.ts',
          from: '      let released = 0;',
          to: '      await lot.unmark(partnerAccount, markedAt);\n      let released = 0;',
        },
      ],
    },
  ]),
];

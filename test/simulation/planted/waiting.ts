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
          from: 'return Math.max(\n    waitMs,\n    Math.min(fault.retryAfterMs ?? 0, isOwnWait(fault) ? longestWaitMs : longestHiddenMs),\n  );',
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
  plantedSource('no-dead-letter-on-hold', [
    {
      folder,
      entry,
      replacements: [
        {
          file: entry,
          from: "return untilMs > clock.now() ? { later: untilMs - clock.now() } : 'queue';",
          to: "return 'queue';",
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
          file: 'redelivery.ts',
          from: "verdict: { kind: 'hold' } }",
          to: "verdict: { kind: 'retry', delayMs: 60_000 } }",
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
  plantedSource('removed-before-sent', [
    {
      folder: 'functions/drain',
      entry: 'drain.ts',
      replacements: [
        {
          file: 'drain.ts',
          from: 'const accepted = await putBack(',
          to: 'await aside.remove(held);\n      const accepted = await putBack(',
        },
      ],
    },
  ]),
];

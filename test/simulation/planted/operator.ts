/** Planted faults in an operator's pauses and resumes. */
import { type PlantedFault, plantedSource } from './planted-fault.ts';

const client = { folder: 'shared/partner-api', entry: 'partner-service.ts' } as const;
const fanOut = { folder: 'functions/fan-out', entry: 'fan-out.ts' } as const;

export const plantedByOperator: readonly PlantedFault[] = [
  plantedSource('pause-unseen-by-warm-process', [
    {
      ...client,
      replacements: [
        {
          file: 'cached-rows.ts',
          from: 'changes === this.#changes ? state :',
          to: 'changes === this.#changes && this.#state === freshBudget ? state :',
        },
      ],
    },
  ]),
  plantedSource('pause-not-asked-for', [
    {
      ...client,
      replacements: [
        {
          file: 'hold-keeper.ts',
          from: 'if (hold && !isTrial) throw',
          to: "if (hold && !isTrial && hold.kind !== 'operator') throw",
        },
      ],
    },
  ]),
  plantedSource('aged-while-paused', [
    {
      ...fanOut,
      replacements: [
        {
          file: fanOut.entry,
          from: 'if (hold && holdMeanings[hold.kind].setsAside) return',
          to: "if (hold?.kind === 'operator') return 0;\n    if (hold?.kind === 'authorization') return",
        },
        { file: fanOut.entry, from: "if (fault.code === 'operator-paused') return 'aside';", to: '' },
      ],
    },
  ]),
  plantedSource('hidden-while-paused', [
    {
      ...fanOut,
      replacements: [
        {
          file: fanOut.entry,
          from: 'if (isLong(heldUntil(account))) return hold(group);',
          to: `const wanted = holdOf(undefined, account, clock.now());
      if (wanted?.kind === 'operator') return sendBack(group, Math.min(300_000, (wanted.until ?? 1e15) - clock.now()), random);
      if (isLong(heldUntil(account))) return hold(group);`,
        },
      ],
    },
  ]),
  plantedSource('tokens-held-back', [
    {
      ...client,
      replacements: [
        {
          file: 'hold-keeper.ts',
          from: 'isForTokens && holdMeanings[kind].sendsTokens;',
          to: "isForTokens && kind === 'authorization';",
        },
      ],
    },
  ]),
  plantedSource('pause-lost-by-connect', [
    {
      folder: 'functions/connect',
      entry: 'connect.ts',
      replacements: [
        {
          file: 'connected-row.ts',
          from: '{ ...waiting, holds: [...(waiting.holds ?? []), ...operatorHoldsOf(now)] }',
          to: 'waiting',
        },
      ],
    },
  ]),
];

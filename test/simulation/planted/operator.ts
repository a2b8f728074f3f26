/** Planted faults in an operator's pauses and resumes. */
import { type PlantedFault, plantedSource } from './planted-fault.ts';

const limiter = { folder: 'shared/partner-api/rate-limit', entry: 'rate-limiter.ts' } as const;
const fanOut = { folder: 'functions/fan-out', entry: 'fan-out.ts' } as const;

export const plantedByOperator: readonly PlantedFault[] = [
  plantedSource('pause-unseen-by-warm-process', [
    {
      ...limiter,
      replacements: [
        {
          file: 'feedback.ts',
          from: 'paused(stored, pausedUntilMs, pauseReason) : stored;',
          to: '{ ...stored } : { ...stored };\n    if (this.#state !== freshBudget) Object.assign(state, { operatorPause: this.#state.operatorPause });',
        },
      ],
    },
  ]),
  plantedSource('pause-not-asked-for', [
    {
      folder: 'shared/partner-api/tokens',
      entry: 'token-source.ts',
      replacements: [
        {
          file: 'token-source.ts',
          from: 'if (pause) throw operatorPausedFault(name, pause, now);',
          to: 'if (pause && now < 0) throw operatorPausedFault(name, pause, now);',
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
          from: 'stopOf(account) !== undefined || mayBeResumed ||',
          to: 'stopOf(account) !== undefined || (mayBeResumed && now < 0) ||',
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
          from: 'if (rests(account)) return hold(group);',
          to: `const wanted = operatorPauseOf(account, clock.now());
      if (wanted) return sendBack(group, Math.min(300_000, (wanted.until ?? 1e15) - clock.now()), random);
      if (rests(account)) return hold(group);`,
        },
      ],
    },
  ]),
  plantedSource('tokens-held-back', [
    {
      ...limiter,
      replacements: [
        {
          file: limiter.entry,
          from: 'return pause && !isForTokens ?',
          to: 'return pause ?',
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
          from: '...(now.operatorPause && { operatorPause: now.operatorPause })',
          to: '',
        },
      ],
    },
  ]),
];

/** Planted faults in tokens and the rate budget. */

import type { Replacement } from './mutants.ts';
import { type PlantedFault, plantedSource, plantedWiring } from './planted-fault.ts';

const inTokens = (name: string, replacement: Replacement) =>
  plantedSource(name, [
    { folder: 'functions/refresh-token', entry: 'refresh-token.ts', replacements: [replacement] },
  ]);
/** In a module outside the folder of the code that is replaced. */
const inShared = (name: string, entry: string, replacement: Replacement) =>
  plantedSource(name, [{ folder: 'shared', entry, replacements: [replacement] }]);
const holdKeeper = 'partner-api/holds/hold-keeper.ts';
const rateLimiter = 'partner-api/rate-limit/rate-limiter.ts';
const blame = 'domain/blame.ts';
const inHoldKeeper = (name: string, from: string, to: string) =>
  plantedSource(name, [
    {
      folder: 'shared/partner-api/holds',
      entry: 'hold-keeper.ts',
      replacements: [{ file: 'hold-keeper.ts', from, to }],
    },
  ]);

export const plantedInTokens: readonly PlantedFault[] = [
  inTokens('no-single-flight', {
    file: 'refresh-lock.ts',
    from: 'const free = leftMs <= 0 || leftMs > settings.lockMs + clockToleranceMs;',
    to: 'const free = true;',
  }),
  inTokens('old-refresh-token-kept', {
    file: 'tokens.ts',
    from: 'answer.refresh_token ? new Secret(answer.refresh_token) : before.refreshToken',
    to: 'before.refreshToken ?? (answer.refresh_token ? new Secret(answer.refresh_token) : undefined)',
  }),
  inTokens('no-write-without-the-lock', {
    file: 'refresh-token.ts',
    from: 'current.refreshing?.holder === holder ? change(current) : undefined,',
    to: 'change(current),',
  }),
  inTokens('only-the-next-pair', {
    file: 'newest-pair.ts',
    from: 'token !== undefined && isOwn && pair.follows === token.version',
    to: 'token !== undefined && (isOwn || true)',
  }),
  inTokens('told-before-stored', {
    file: 'refresh-token.ts',
    from: 'const version = await storePair(deps, name, pair, options);',
    to: 'await accounts.change(name, (now) => withToken(now, current.version, pair));\n    const version = await storePair(deps, name, pair, options);',
  }),
  plantedSource('disconnect-forgets-stop', [
    {
      folder: 'functions/connect',
      entry: 'connect.ts',
      replacements: [
        {
          file: 'disconnect-account.ts',
          from: 'const { token: _token, ...rest } =',
          to: 'const { token: _token, unanswered, ...rest } =',
        },
      ],
    },
  ]),
  plantedSource('connect-without-lock', [
    {
      folder: 'functions/connect',
      entry: 'connect.ts',
      replacements: [
        {
          file: 'connect-account.ts',
          from: 'return exclusively(deps, name, options, again, () => connectFirst(request, options));',
          to: 'return (await accounts.read(name)) ? again(undefined as never) : connectFirst(request, options);',
        },
      ],
    },
  ]),
  inTokens('sweep-leaves-expired', {
    file: 'sweep.ts',
    from: "return token.expiresAt <= clock.now() ? 'expired' : undefined;",
    to: 'return undefined;',
  }),
  plantedSource('version-not-compared', [
    {
      folder: 'shared/partner-api/tokens',
      entry: 'token-source.ts',
      replacements: [
        {
          file: 'token-source.ts',
          from: 'if (known && known.version === version) return known;',
          to: 'if (known) return known;',
        },
        { file: 'token-source.ts', from: 'if (found?.version !== wanted || !found)', to: 'if (!found)' },
        {
          file: 'token-source.ts',
          from: 'if (known && known.version === token?.version && this.#isGood',
          to: 'if (known && (token || true) && this.#isGood',
        },
      ],
    },
  ]),
  plantedSource('generation-not-compared', [
    {
      folder: 'shared/partner-api/tokens',
      entry: 'token-source.ts',
      replacements: [
        {
          file: 'token-source.ts',
          from: 'if (account?.generation !== generation) throw',
          to: 'if (!account) throw',
        },
      ],
    },
  ]),
  plantedSource('cursor-kept-for-new-user', [
    {
      folder: 'test/fakes',
      entry: 'state.ts',
      replacements: [
        {
          file: 'feed-states.ts',
          from: 'rows.set(keyOf(state), { state, fence: firstNumberOf(state.generation) });',
          to: 'const { cursor } = row?.state ?? {};\n      rows.set(keyOf(state), {\n        state: { ...state, ...(cursor === undefined ? {} : { cursor }) },\n        fence: firstNumberOf(state.generation),\n      });',
        },
      ],
    },
  ]),
  plantedSource('forgotten-while-connected', [
    {
      folder: 'functions/connect',
      entry: 'connect.ts',
      replacements: [
        {
          file: 'connect-account.ts',
          from: 'const isAnew = !known || newUser || known.forgetting;',
          to: 'const isAnew = !known || newUser;',
        },
        { file: 'disconnect-account.ts', from: ' || !account.forgetting', to: '' },
      ],
    },
  ]),
  plantedWiring('budget-per-process', { isBudgetOwn: true }),
  plantedSource('pause-not-shared', [
    {
      folder: 'shared/partner-api/rate-limit',
      entry: 'rate-limiter.ts',
      replacements: [
        {
          file: 'rate-limiter.ts',
          from: 'const { state } = await this.#store.change((stored) => ({ state: rule(stored) }));',
          to: 'const { state } = { state: this.#state };',
        },
      ],
    },
  ]),
  inShared('blame-several-accounts', holdKeeper, {
    file: blame,
    from: 'all.size > 1 && blamed.length >= rule.bridge',
    to: 'blamed.length >= rule.bridge',
  }),
  inShared('blame-several-adverts', holdKeeper, {
    file: blame,
    from: 'return own.size >= rule.account ?',
    to: 'return own.size >= 1 ?',
  }),
  inShared('blame-the-only-account', holdKeeper, {
    file: blame,
    from: "if (isOnly && fault === 'forbidden' && own.size >= rule.bridge)",
    to: "if (!isOnly && fault === 'forbidden' && own.size >= rule.bridge)",
  }),
  inShared('one-trial-at-a-time', rateLimiter, {
    file: 'domain/rate-budget.ts',
    from: 'const next = untried ? withHold(reserved, whileTried(untried, firstSlotMs - offsetMs)) : reserved;',
    to: 'const next = reserved;',
  }),
  inShared('hold-has-a-length', rateLimiter, {
    file: 'domain/holds.ts',
    from: 'return until > now && until - now <= Math.max(forMs, trialMs) + clockToleranceMs;',
    to: 'return until > now;',
  }),
  inHoldKeeper('cursor-403-counted', 'if (isUndecided) return undefined;', ''),
  inHoldKeeper(
    'one-403-opens-circuit',
    'const verdict = this.#blame.answered(evidence, now, rateLimiter.connected === 1);',
    "if (fault?.code === 'forbidden') this.#blame.answered({ ...evidence, account: 'other' }, now);\n    const verdict = this.#blame.answered(evidence, now, rateLimiter.connected === 1);",
  ),
];

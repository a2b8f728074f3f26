/** Planted faults in tokens and the rate budget. */

import type { Replacement } from './mutants.ts';
import { type PlantedFault, plantedSource, plantedWiring } from './planted-fault.ts';

const inTokens = (name: string, replacement: Replacement) =>
  plantedSource(name, [
    { folder: 'functions/refresh-token', entry: 'refresh-token.ts', replacements: [replacement] },
  ]);
/** In the client of the partner service, or in a module that it uses. */
const inClient = (name: string, ...replacements: readonly Replacement[]) =>
  plantedSource(name, [{ folder: 'shared', entry: 'partner-api/partner-service.ts', replacements }]);
const holdKeeper = 'partner-api/hold-keeper.ts';
const tokenSource = 'partner-api/token-source.ts';
const blame = 'domain/blame.ts';

export const plantedInTokens: readonly PlantedFault[] = [
  inTokens('no-single-flight', {
    file: 'refresh-lock.ts',
    from: 'if (isLasting(now.refreshing?.until ?? 0, settings.lockMs, startedAt)) return undefined;',
    to: '',
  }),
  inTokens('old-refresh-token-kept', {
    file: 'token-pairs.ts',
    from: 'answer.refresh_token ? new Secret(answer.refresh_token) : before.refreshToken',
    to: 'before.refreshToken ?? (answer.refresh_token ? new Secret(answer.refresh_token) : undefined)',
  }),
  inTokens('no-write-without-the-lock', {
    file: 'refresh-token.ts',
    from: 'current.refreshing?.holder === holder ? change(current) : undefined,',
    to: 'change(current),',
  }),
  inTokens('only-the-next-pair', {
    file: 'token-pairs.ts',
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
  inClient(
    'version-not-compared',
    {
      file: tokenSource,
      from: 'if (known && known.version === version) return known;',
      to: 'if (known) return known;',
    },
    { file: tokenSource, from: 'if (found?.version !== wanted || !found)', to: 'if (!found)' },
    {
      file: tokenSource,
      from: 'if (known && known.version === token?.version && this.#isGood',
      to: 'if (known && (token || true) && this.#isGood',
    },
  ),
  inClient('generation-not-compared', {
    file: tokenSource,
    from: 'if (account?.generation !== generation) throw',
    to: 'if (!account) throw',
  }),
  plantedSource('cursor-kept-for-new-user', [
    {
      folder: 'shared/state',
      entry: 'feed-states.ts',
      replacements: [
        {
          file: 'feed-states.ts',
          from: '>= state.generation ? undefined : state,',
          to: '>= state.generation ? undefined : { ...state, cursor: row && feedStateOf(row).cursor },',
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
  inClient('pause-not-shared', {
    file: 'partner-api/cached-rows.ts',
    from: 'const { state } = await reached(this.#store.change((stored) => ({ state: rule(stored) })));',
    to: 'const { state } = { state: this.#state };',
  }),
  inClient('blame-several-accounts', {
    file: blame,
    from: 'all.size > 1 && blamed.length >= rule.bridge',
    to: 'blamed.length >= rule.bridge',
  }),
  inClient('blame-several-adverts', {
    file: blame,
    from: 'return own.size >= rule.account ?',
    to: 'return own.size >= 1 ?',
  }),
  inClient('blame-the-only-account', {
    file: blame,
    from: "if (isOnly && fault === 'forbidden' && own.size >= rule.bridge)",
    to: "if (!isOnly && fault === 'forbidden' && own.size >= rule.bridge)",
  }),
  inClient('refusals-judged-by-kind', {
    file: blame,
    from: 'return [...suspects].some((suspect) => kindOf(suspect) === kind);',
    to: 'return kind !== undefined;',
  }),
  inClient('one-trial-at-a-time', {
    file: holdKeeper,
    from: 'return tried ? withHold(current, tried) : current;',
    to: 'return current;',
  }),
  inClient('hold-has-a-length', {
    file: 'domain/holds.ts',
    from: 'return isLasting(until, Math.max(forMs, trialMs), now);',
    to: 'return until > now;',
  }),
  inClient('cursor-403-counted', { file: holdKeeper, from: 'if (isUndecided) return undefined;', to: '' }),
  inClient('one-403-opens-circuit', {
    file: holdKeeper,
    from: 'const verdict = this.#blame.answered(evidence, now, budget.state.connected === 1);',
    to: "if (fault?.code === 'forbidden') this.#blame.answered({ ...evidence, account: 'other' }, now);\n    const verdict = this.#blame.answered(evidence, now, budget.state.connected === 1);",
  }),
];

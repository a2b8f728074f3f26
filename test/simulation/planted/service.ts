/** Planted faults in tokens, holds and the rate budget: name, the rule that each leaves out, and how. */
import type { PlantedRow } from './pipeline.ts';

export const plantedInService: readonly PlantedRow[] = [
  [
    'date-believed',
    "reading starts at the earlier of the service's `Date` and the bridge's own clock",
    [
      'shared/partner-api/service-clock.ts',
      'return Math.min(believedDate(date, nowMs), nowMs);',
      'return claimedDate(date) ?? nowMs;',
    ],
    ['functions/drain/read-page.ts', 'knownSuccess(lastSuccess, nowMs)', 'lastSuccess'],
  ],
  [
    'no-single-flight',
    'each partner account has at most one refresh at a time',
    [
      'functions/refresh-token/refresh-lock.ts',
      'if (isLasting(now.refreshing?.until ?? 0, settings.lockMs, startedAt)) return undefined;',
      '',
    ],
  ],
  [
    'old-refresh-token-kept',
    'the refresh token in the answer replaces the old one',
    [
      'functions/refresh-token/token-pairs.ts',
      'answer.refresh_token ? new Secret(answer.refresh_token) : before.refreshToken',
      'before.refreshToken ?? (answer.refresh_token ? new Secret(answer.refresh_token) : undefined)',
    ],
  ],
  [
    'no-write-without-the-lock',
    'a refresh that has lost its lock changes nothing in the account’s row',
    [
      'functions/refresh-token/refresh-token.ts',
      'current.refreshing?.holder === holder ? change(current) : undefined,',
      'change(current),',
    ],
  ],
  [
    'only-the-next-pair',
    'a token pair that the account’s row does not name is used only if it follows the one that is named',
    [
      'functions/refresh-token/token-pairs.ts',
      'token !== undefined && isOwn && pair.follows === token.version',
      'token !== undefined && (isOwn || true)',
    ],
  ],
  [
    'told-before-stored',
    'the new token pair is stored before anything else is done with it',
    [
      'functions/refresh-token/refresh-token.ts',
      'const version = await storePair(deps, name, pair, options);',
      'await accounts.change(name, (now) => withToken(now, current.version, pair));\n    const version = await storePair(deps, name, pair, options);',
    ],
  ],
  [
    'disconnect-forgets-stop',
    '`connect` reports the end of a stop, even after a disconnect',
    [
      'functions/connect/disconnect-account.ts',
      'const { token: _token, ...rest } =',
      'const { token: _token, unanswered, ...rest } =',
    ],
  ],
  [
    'connect-without-lock',
    '`connect` and a refresh do not run at the same time',
    [
      'functions/connect/connect-account.ts',
      'const connected = await exclusively(deps, name, options, again);',
      'const connected = (await accounts.read(name)) && (await again(newId()));',
    ],
  ],
  [
    'sweep-leaves-expired',
    'the sweep refreshes every expired access token',
    [
      'functions/refresh-token/sweep.ts',
      "return token.expiresAt <= clock.now() ? 'expired' : undefined;",
      'return undefined;',
    ],
  ],
  [
    'version-not-compared',
    'a token is used only while its version is the one in the account’s row',
    [
      'shared/partner-api/token-source.ts',
      'if (known && known.version === version) return known;',
      'if (known && this.#isGood(name, known)) return known;',
    ],
    ['shared/partner-api/token-source.ts', 'if (found?.version !== version || !found)', 'if (!found)'],
    [
      'shared/partner-api/token-source.ts',
      'if (known && known.version === token?.version && this.#isGood',
      'if (known && (token || true) && this.#isGood',
    ],
  ],
  [
    'generation-not-compared',
    'requests for one generation never use the token of another',
    ['shared/partner-api/token-source.ts', 'if (row?.generation !== generation) throw', 'if (!row) throw'],
  ],
  [
    'cursor-kept-for-new-user',
    'a cursor is used only for the user that it was issued to',
    [
      'shared/state/feed-states.ts',
      '>= state.generation ? undefined : state,',
      '>= state.generation ? undefined : { ...state, cursor: row && feedStateOf(row).cursor },',
    ],
  ],
  [
    'forgotten-while-connected',
    'connecting a name that is being forgotten begins a new generation',
    [
      'functions/connect/connect-account.ts',
      'const isAnew = !known || newUser || known.forgetting;',
      'const isAnew = !known || newUser;',
    ],
    ['functions/connect/disconnect-account.ts', ' || !account.forgetting', ''],
  ],
  [
    'budget-per-process',
    'all functions together share one rate budget',
    [
      'test/simulation/world/bridge-ports.ts',
      'createBudgetStore(store)',
      'createBudgetStore({ ...store, get: (key) => store.get({ ...key, name: process.name }), put: (key, value, expected) => store.put({ ...key, name: process.name }, value, expected) })',
    ],
  ],
  [
    'pause-not-shared',
    'a pause that the service asks for applies to all functions',
    [
      'shared/partner-api/cached-rows.ts',
      'const { state } = await reached(this.#store.change((stored) => ({ state: rule(stored) })));',
      'const { state } = { state: this.#state };',
    ],
  ],
  [
    'blame-several-accounts',
    'answers hold the whole bridge only if they are those of several accounts',
    [
      'shared/domain/blame.ts',
      'all.some((one) => one.account !== account) && all.length >= rule.bridge',
      'all.length >= rule.bridge',
    ],
  ],
  [
    'blame-several-adverts',
    'answers hold an account only if they are those of several adverts',
    ['shared/domain/blame.ts', 'return own.length >= rule.account ?', 'return own.length >= 1 ?'],
  ],
  [
    'blame-the-only-account',
    '403 for two adverts of an account holds the bridge only if no other account is connected',
    [
      'shared/domain/blame.ts',
      "if (isOnly && fault === 'forbidden' && own.length >= rule.bridge)",
      "if (!isOnly && fault === 'forbidden' && own.length >= rule.bridge)",
    ],
  ],
  [
    'refusals-judged-by-kind',
    'that a feed is read well ends no hold for adverts that are refused',
    [
      'shared/domain/blame.ts',
      'rules[fault as FaultKind] !== permanent || kindOf(suspect) === kindOf(resource);',
      'kindOf(suspect) !== undefined;',
    ],
  ],
  [
    'one-trial-at-a-time',
    'one request tries the service after a hold, and all others wait for its result',
    [
      'shared/partner-api/hold-keeper.ts',
      'return tried ? withHold(current, tried) : current;',
      'return current;',
    ],
  ],
  [
    'hold-has-a-length',
    'a hold that lasts for longer than its length, because a clock was set back, is over',
    [
      'shared/domain/holds.ts',
      'return isLasting(until, Math.max(forMs, trialMs), now);',
      'return until > now;',
    ],
  ],
  [
    'cursor-403-counted',
    'a 403 for a cursor is judged by the next request, which has no cursor',
    ['shared/partner-api/hold-keeper.ts', 'if (isUndecided) return undefined;', ''],
  ],
  [
    'one-403-opens-circuit',
    'the circuit opens only when two different accounts answer 403',
    [
      'shared/partner-api/hold-keeper.ts',
      'const verdict = this.#blame.answered(evidence, now, budget.state.connected === 1);',
      "if (fault?.code === 'forbidden') this.#blame.answered({ ...evidence, account: 'other' }, now);\n    const verdict = this.#blame.answered(evidence, now, budget.state.connected === 1);",
    ],
  ],
  [
    'pause-unseen-by-warm-process',
    'every process checks repeatedly what an operator has paused',
    [
      'shared/partner-api/cached-rows.ts',
      'changes === this.#changes ? state :',
      'changes === this.#changes && this.#state === freshBudget ? state :',
    ],
  ],
  [
    'pause-not-asked-for',
    'the pause of the partner account is checked at the moment a request is sent',
    [
      'shared/partner-api/hold-keeper.ts',
      'if (hold && !isTrial) throw',
      "if (hold && !isTrial && hold.kind !== 'operator') throw",
    ],
  ],
  [
    'tokens-held-back',
    'tokens are refreshed even while everything else is paused',
    [
      'shared/partner-api/hold-keeper.ts',
      'isForTokens && holdMeanings[kind].sendsTokens;',
      "isForTokens && kind === 'authorization';",
    ],
  ],
  [
    'pause-lost-by-connect',
    'an operator’s pause of an account continues when the account is connected again',
    [
      'functions/connect/connected-row.ts',
      'return { ...waiting, holds: [...(waiting.holds ?? []), ...kept] };',
      'return waiting;',
    ],
  ],
];

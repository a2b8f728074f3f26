/** Planted faults in tokens, holds and the rate budget. */
import type { Planted } from './pipeline.ts';

export const plantedInService: Planted = {
  'shared/partner-api/service-clock.ts': [
    [
      'date-believed',
      "reading starts at the earlier of the service's `Date` and the bridge's own clock",
      'return Math.min(believedDate(date, nowMs, mostReadAgainMs), nowMs);',
      'return claimedDate(date) ?? nowMs;',
    ],
  ],
  'functions/drain/read-page.ts': [
    [
      'date-believed',
      "reading starts at the earlier of the service's `Date` and the bridge's own clock",
      'knownSuccess(lastSuccess, nowMs)',
      'lastSuccess',
    ],
  ],
  'functions/refresh-token/refresh-lock.ts': [
    [
      'no-write-without-the-lock',
      'a refresh that has lost its lock changes nothing in the account’s row',
      'return refreshing?.holder === holder ? { ...change(current), refreshing } : undefined;\n      });\n      return account && isHeldIn(account) ? account : undefined;',
      'return change(current);\n      });\n      return account;',
    ],
    [
      'no-single-flight',
      'each partner account has at most one refresh at a time',
      'if (isLasting(current.refreshing?.until ?? 0, lockMs, startedAt)) return undefined;',
      '',
    ],
  ],
  'functions/refresh-token/token-pairs.ts': [
    [
      'old-refresh-token-kept',
      'the refresh token in the answer replaces the old one',
      'answer.refresh_token ? new Secret(answer.refresh_token) : before.refreshToken',
      'before.refreshToken ?? (answer.refresh_token ? new Secret(answer.refresh_token) : undefined)',
    ],
    [
      'only-the-next-pair',
      'a token pair that the account’s row does not name is used only if it follows the one that is named',
      'token !== undefined && isOwn && pair.follows === token.version',
      'token !== undefined && (isOwn || true)',
    ],
  ],
  'functions/refresh-token/refresh-token.ts': [
    [
      'told-before-stored',
      'the new token pair is stored before anything else is done with it',
      'const version = isSame ?',
      'if (!isSame) await lock.change((latest) => latest);\n    const version = isSame ?',
    ],
    [
      'same-pair-not-stored',
      'a pair that is stored already is not stored again',
      'const isSame = current.isLatest && isSamePair(own, current.pair);',
      'const isSame = false;',
    ],
    [
      'spent-token-renewed-again',
      'after a token in its last seconds the refresh asks again for the next one',
      'if (renewed && arrivedExpired(renewed.pair) &&',
      'if (false &&',
    ],
    [
      'one-account-holds-no-other',
      'that one account’s token cannot be renewed keeps no other account from renewing its own',
      '&& account.renewal?.fault === undefined',
      '',
    ],
  ],
  'shared/domain/renewal.ts': [
    [
      'renewal-waits',
      'a renewal that failed or did not help is repeated after a growing delay',
      'return last && isLasting(last.at + last.forMs, last.forMs, now) ? last : undefined;',
      'return undefined;',
    ],
    [
      'good-answer-ends-wait',
      'an answer that is good with the token ends the growth of the delay between renewals',
      'if (!last || last.fault !== undefined || last.forMs <= firstMs) return undefined;',
      'return undefined;',
    ],
    [
      'endpoint-tried-once-for-all',
      'one account tries for all a token endpoint that fails for several',
      'const forMs = before ? doubled(before.forMs, longestOutageMs) : 0;',
      'const forMs = 0;',
    ],
  ],
  'shared/partner-api/call.ts': [
    [
      'cursor-403-counted',
      'a 403 for a cursor is judged by the next request, which has no cursor',
      'if (!isOpen) await',
      'await',
    ],
    [
      'late-answer-lost',
      'the answer to a token request is waited for as long as the function may run',
      'const timeoutMs = request.token ? Math.min(leftMs, attemptTimeoutMs) : leftMs;',
      'const timeoutMs = Math.min(leftMs, attemptTimeoutMs);',
    ],
  ],
  'functions/connect/disconnect-account.ts': [
    [
      'disconnect-forgets-stop',
      '`connect` reports the end of a stop, even after a disconnect',
      'const { token: _token, ...rest } =',
      'const { token: _token, unanswered, ...rest } =',
    ],
    [
      'forgotten-while-connected',
      'connecting a name that is being forgotten begins a new generation',
      ' || !account.forgetting',
      '',
    ],
  ],
  'functions/connect/connect-account.ts': [
    [
      'connect-without-lock',
      '`connect` and a refresh do not run at the same time',
      'exclusively(deps, request.partnerAccount, options, (lock) => exchange(request, lock, options));',
      `deps.partnerAccounts.read(request.partnerAccount).then((account) => exchange(request, {
      ...{ name: request.partnerAccount, account, read: async () => account, remove: async () => undefined },
      add: (row) => deps.partnerAccounts.add(row),
      change: (changed) => deps.partnerAccounts.change(request.partnerAccount, changed),
    }, options));`,
    ],
    [
      'forgotten-while-connected',
      'connecting a name that is being forgotten begins a new generation',
      'const isAnew = !known || newUser || known.forgetting;',
      'const isAnew = !known || newUser;',
    ],
    [
      'unverified-pair-follows',
      'a refresh never names the pair of a user who could not be verified',
      'const isSure = !isAnew && userUnverified === undefined;',
      'const isSure = !isAnew;',
    ],
  ],
  'functions/refresh-token/sweep.ts': [
    [
      'sweep-leaves-expired',
      'the sweep refreshes every expired access token',
      "return token.expiresAt <= nowMs ? 'expired' : undefined;",
      'return undefined;',
    ],
  ],
  'shared/partner-api/token-source.ts': [
    [
      'rejected-answer-counts',
      'an answer of 401 counts if its renewal brings no other token, and so ends the turn of its advert',
      'if (fault === rejected?.fault) await',
      'if (fault === 1e9) await',
    ],
    [
      'version-not-compared',
      'a token is used only while its version is the one in the account’s row',
      'if (known && known.version === version) return known;',
      'if (known && known.expiresAt > clock.now()) return known;',
    ],
    [
      'renewed-again',
      'a rejected token is renewed, also one that has just replaced another',
      'return !waiting;',
      'return !row?.renewal;',
    ],
    ['version-not-compared', '… and', 'if (found?.version !== version || !found)', 'if (!found)'],
    [
      'generation-not-compared',
      'requests for one generation never use the token of another',
      'if (row?.generation !== generation) throw',
      'if (!row) throw',
    ],
  ],
  'shared/state/feed-states.ts': [
    [
      'cursor-kept-for-new-user',
      'a cursor is used only for the user that it was issued to',
      '>= state.generation ? undefined : state,',
      '>= state.generation ? undefined : { ...state, cursor: row && feedStateOf(row).cursor },',
    ],
  ],
  'test/simulation/world/bridge-ports.ts': [
    [
      'budget-per-process',
      'all functions together share one rate budget',
      'createBudgetStore(store)',
      'createBudgetStore({ ...store, get: (key) => store.get({ ...key, name: process.name }), put: (key, value, expected) => store.put({ ...key, name: process.name }, value, expected) })',
    ],
  ],
  'shared/partner-api/cached-rows.ts': [
    [
      'pause-not-shared',
      'a pause that the service asks for applies to all functions',
      'const stored = await reached(store.change(rule));',
      'const stored = known;',
    ],
    [
      'pause-unseen-by-warm-process',
      'every process checks repeatedly what an operator has paused',
      'before === changes ? stored :',
      'before === changes && known === freshBudget ? stored :',
    ],
  ],
  'shared/domain/blame.ts': [
    [
      'block-of-two-accounts',
      '403 holds the bridge only if two accounts, or the feed and an advert of the only one, are answered so',
      '!other.startsWith',
      'other !== resource || !other.startsWith',
    ],
    [
      'block-judged-by-its-trial',
      'an answer of another kind ends no address block',
      'if (open && open.tried?.by !== resource) return row;',
      "if (open && open.tried?.by !== resource) return row;\n  if (open && fault.code !== 'forbidden') return withoutHolds(row, isBlaming);",
    ],
    [
      'several-adverts-fail',
      'adverts of an account go one at a time only after several of them have failed',
      'if (failing.length < manyAdverts)',
      'if (failing.length < 1)',
    ],
    [
      'gap-grows',
      'the longer adverts of an account have gone one at a time, the longer is the time between two of them',
      '* gapPart, mostGapMs)',
      '* 0, mostGapMs)',
    ],
    [
      'all-go-on',
      'adverts of an account go one at a time after several of them have failed',
      'if (failing.length < manyAdverts)',
      'if (failing.length < 1_000)',
    ],
    [
      'tokens-end-no-block',
      'an answer of the token endpoint does not end an address block',
      'return account === undefined ? row : acquitted(row, sentAt, now);',
      'return acquitted(row, sentAt, now);',
    ],
    [
      'good-answer-ends-turns',
      'adverts of an account go on together after a good answer about any of them',
      'if (!fault) return acquitted(row, sentAt, now);',
      'if (!fault) return row;',
    ],
    [
      'feed-blames-adverts',
      'the answers of a feed say nothing of adverts',
      'if (!isOfAdvert(resource)) return row;',
      '',
    ],
  ],
  'shared/partner-api/hold-keeper.ts': [
    [
      'evidence-in-memory',
      'what an answer shows is stored, so that a process that lives for one batch passes it on',
      'if (rule(known) === known) return;',
      'if (blamingHold(rule(known)) === blamingHold(known)) return;',
    ],
    [
      'pause-not-asked-for',
      'the pause of the partner account is checked at the moment a request is sent',
      'if (hold) throw',
      "if (hold && hold.kind !== 'operator') throw",
    ],
  ],
  'shared/domain/holds.ts': [
    [
      'feed-goes-on',
      'the feed of an account goes on while its adverts go one at a time',
      "(hold.kind !== 'service' || isOfAdvert(resource)) &&",
      '',
    ],
    [
      'hold-has-a-length',
      'a hold that lasts for longer than its length, because a clock was set back, is over',
      'return until === undefined || isLasting(until, forMs, now);',
      'return until === undefined || until > now;',
    ],
    [
      'one-trial-at-a-time',
      'one request tries the service after a hold, and all others wait for its result',
      'hold.tried?.by !== resource',
      'hold.tried?.by === resource',
    ],
    [
      'healthy-before-ill',
      'what has failed tries the service only if no other does',
      '(isIll ? trialMs : 0)',
      '(isIll ? 0 : 0)',
    ],
    [
      'tokens-held-back',
      'tokens are refreshed even while everything else is paused',
      'isForTokens && holdMeanings[kind].isForPerson)',
      "isForTokens && kind === 'authorization')",
    ],
  ],
  'functions/connect/connected-row.ts': [
    [
      'pause-lost-by-connect',
      'an operator’s pause of an account continues when the account is connected again',
      "holds: [stop, ...holds.filter(({ kind }) => kind === 'operator')],",
      'holds: [stop],',
    ],
  ],
};

/** A part of the service that answers badly for a while, while everything beside it is well. */

export interface SimResponse {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The service accepts the request and never answers. */
export const noAnswer: SimResponse = { status: 0, body: 'no answer' };
/** The service closes the connection. */
export const closed: SimResponse = { status: 0, body: 'closed' };

/** @param seconds in which the service wants to be asked again */
export const passing = (status: number, seconds?: number): SimResponse => ({
  status,
  body: '',
  ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
});

/** A page of a feed that says nothing new, and never that it is at its end. */
const stuckPage = (data: readonly unknown[], turn: number): SimResponse => ({
  status: 200,
  body: JSON.stringify({ data, hasMore: true, nextCursor: `stuck-${turn}` }),
});

const illAnswers = {
  'wrong-shape': { status: 200, body: '{"data":{"id":1}}' },
  'status-400': { status: 400, body: '{"error":"validation_error","message":"id"}' },
  /** Although the token is good. */
  'status-401': { status: 401, body: '{"error":"invalid_token"}' },
  'status-403': { status: 403, body: '' },
  archived: { status: 403, body: '{"code":"advert_archived","message":"The advert is archived."}' },
  'status-404': { status: 404, body: '{"error":{"status":404,"title":"not_found"}}' },
  'client-401': { status: 401, body: '{"error":"invalid_client"}' },
  'token-400': { status: 400, body: '{"error":"never_heard_of"}' },
  'status-451': { status: 451, body: '{"error":"unavailable_for_legal_reasons"}' },
  'status-500': passing(500),
  'status-503': passing(503),
  'wait-1': passing(503, 1),
  'wait-50': passing(503, 50),
  'wait-600': passing(503, 600),
  /** Which holds the whole bridge. */
  'wait-429': passing(429, 60),
  hangs: noAnswer,
  resets: closed,
  'no-id': (turn: number) => stuckPage([`no-id-${turn}`], turn),
  cycles: (turn: number) => stuckPage(['1000'], turn % 3),
  empty: (turn: number) => stuckPage([], turn),
} as const;

export type IllAnswer = keyof typeof illAnswers;

/** @param turn how often it was asked before */
export function illAnswer(answer: IllAnswer, turn: number): SimResponse {
  const response = illAnswers[answer];
  return typeof response === 'function' ? response(turn) : response;
}

export interface Ill {
  readonly key: string;
  readonly account: string;
  /** Adverts of the account, its feed, every request with its token, or those for a token. */
  readonly of: 'adverts' | 'feed' | 'account' | 'tokens';
  /** With `of: 'adverts'`: which ones. */
  readonly advertIds: ReadonlySet<string>;
  readonly answer: IllAnswer;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** @param pathname of a request for `account` */
export function isAbout(
  { account, of, advertIds }: Ill,
  asked: { account: string; pathname: string },
): boolean {
  const isForTokens = asked.pathname.endsWith('/oauth/token');
  if (account !== asked.account || isForTokens !== (of === 'tokens')) return false;
  switch (of) {
    case 'account':
    case 'tokens':
      return true;
    case 'feed':
      return asked.pathname.includes('/status/');
    case 'adverts':
      return advertIds.has(asked.pathname.split('/').at(-1) ?? '');
  }
}

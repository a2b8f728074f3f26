import { advertsFeed } from '../../../shared/contract/messages.ts';
import type { Clock } from '../../../shared/domain/clock.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { createCachedBudget } from '../../../shared/partner-api/cached-rows.ts';
import type { Gates } from '../../../shared/partner-api/call.ts';
import {
  createPartnerClient,
  type PartnerClient,
  type PartnerClientOptions,
} from '../../../shared/partner-api/client.ts';
import type { Sent } from '../../../shared/partner-api/error-answers.ts';
import { createHoldKeeper, type HoldKeeperOptions } from '../../../shared/partner-api/hold-keeper.ts';
import type { TokenSource } from '../../../shared/partner-api/token-source.ts';
import { createBudgetStore } from '../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../fakes/store.ts';

export const token = new Secret('access-token-0123456789abcdef');
export const application = {
  clientId: new Secret('client-4711'),
  clientSecret: new Secret('client-secret-98765'),
};
export const feed = advertsFeed;
export const query = { feed, since: '2026-11-20T12:00:00Z', limit: 1000 };

/** A rate limiter that delays no request and records the resources. */
export function createOpenRateLimiter() {
  const entered: string[] = [];
  const enter = async (resource: string) => {
    entered.push(resource);
    return Number.POSITIVE_INFINITY;
  };
  return { enter, entered };
}

/** The machine's clock with sleeps that end immediately, so that backoffs take no time. */
export const sleepless: Clock & { readonly slept: number[] } = {
  slept: [],
  now: () => Date.now(),
  async sleep(ms) {
    this.slept.push(ms);
  },
};

export const soon = () => ({ deadlineMs: Date.now() + 5_000 });

/** Fetches an advert of the account main with {@link token}. */
export const fetchWith = (
  client: PartnerClient,
  id: string,
  options: { deadlineMs?: number; token?: Secret } = {},
) => client.readAdvert('main', id, { feed: 'adverts', token, ...soon(), ...options });

const nothing = () => undefined;
const silent = { info: nothing, warn: nothing, error: nothing, count: nothing };

type GivenOptions = Partial<PartnerClientOptions & Gates & PartnerClientOptions['settings']> & {
  tokens?: TokenSource;
};

/** A client of the service at `baseUrl`, without budget and without waits. */
export function clientOf(
  baseUrl: string,
  { acceptLanguage, maxPauseSeconds = 3_600, tokens, ...given }: GivenOptions = {},
) {
  const options = { clock: sleepless, observer: silent, concurrency: 10, ...given };
  const budgetStore = createBudgetStore(createInMemoryStore());
  const settings = { maxRequestsPerSecond: 10, circuitSeconds: 1_800, maxPauseSeconds, acceptLanguage };
  const budget = createCachedBudget(budgetStore, options.clock);
  const gates = { rateLimiter: createOpenRateLimiter(), holds: holdsOf(given), budget };
  return createPartnerClient({ baseUrl, budgetStore, settings, ...options }, { ...gates, ...given }, tokens);
}

/** An answer whose body is a text, or the value that the text encodes. */
export const sentOf = (
  body: unknown,
  { status = 200, headers = {}, ...request }: Partial<Sent & Sent['answer'] & Sent['answer']['head']> = {},
): Sent => ({
  ...{ what: 'GET /x', secrets: [token], sentAt: 0, receivedAt: 0, ...request },
  answer: {
    status,
    body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
    head: { headers },
  },
});

/** What keeps holds, in a state of its own. */
export function holdsOf({ clock = sleepless, ...options }: Partial<HoldKeeperOptions> = {}) {
  const budget = createCachedBudget(createBudgetStore(createInMemoryStore()), clock);
  return createHoldKeeper({ budget, circuitSeconds: 1_800, clock, observer: silent, ...options });
}

/** The fault that `promise` is rejected with. */
export async function faultOf(promise: Promise<unknown>): Promise<BridgeFault> {
  const value = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (value instanceof BridgeFault) return value;
  throw new Error(`no fault but ${value instanceof Error ? value.stack : 'an answer'}`);
}

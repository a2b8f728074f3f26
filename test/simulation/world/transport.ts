/** The connection between a process and the partner service, with everything that may happen to a request. */

import {
  type Answer,
  NoAnswerError,
  type Transport,
  type WireRequest,
} from '../../../shared/partner-api/transport.ts';
import type { Fetch } from '../model/history.ts';
import { closed, noAnswer, passing, type SimResponse } from '../model/ill.ts';
import { type AnswerIncident, answerIncidents, drawIncident } from '../model/incidents.ts';
import { between, pick, type Random } from '../model/random.ts';
import type { Page } from '../model/service.ts';
import { never, type Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';
import { nameOf, tokenIn } from './users.ts';

/** What a process last received from the service: shows the checker where its writes come from. */
export interface Seen {
  /** By account. */
  readonly pages: Map<string, Page[]>;
  readonly fetches: Map<string, Fetch>;
  /** Accounts whose cursor was rejected in the last feed request. */
  readonly refusedCursors: Set<string>;
}

interface Circumstances {
  readonly incident: AnswerIncident | undefined;
  readonly random: Random;
  readonly beganTick: number;
}

/** The service's answer, and what to record once it arrives. */
interface Given {
  readonly response: SimResponse;
  readonly page?: Page;
  readonly fetch?: Fetch;
}

const json = (status: number, body: unknown): SimResponse => ({ status, body: JSON.stringify(body) });
const own = (status: number, code: string): SimResponse =>
  json(status, { error: { status, code, title: code } });

const spoiled: Partial<Record<AnswerIncident, (random: Random) => SimResponse>> = {
  'status-500': () => own(500, 'internal_error'),
  'html-503': () => ({ status: 503, body: '<html>down</html>' }),
  'wait-503': (random) => passing(503, between(random, 1, 8)),
  'wait-429': (random) => passing(429, between(random, 1, 12)),
  'status-429': () => json(429, { error: 'too_many_requests' }),
  'status-403': () => ({ status: 403, body: '' }),
  'status-400': () => json(400, { code: 'validation_error', message: 'limit' }),
  'html-404': () => ({ status: 404, body: '<html>no such page</html>' }),
  unauthorized: () => ({ status: 401, body: '' }),
  'wrong-shape': () => json(200, { data: { status: 7 } }),
  'not-json': () => ({ status: 200, body: '{"data":' }),
};

/**
 * The ways in which the service may reject a cursor: the document does not say which (partner-api.md §4.1 rule 7).
 */
const rejections: readonly SimResponse[] = [
  json(400, { code: 'validation_error', message: 'cursor' }),
  { status: 403, body: '' },
  own(404, 'not_found'),
  { status: 404, body: '<html></html>' },
  json(409, { error: { type: 'conflict', message: 'cursor' } }),
  own(410, 'gone'),
  json(422, { data: { error: { status: 422, title: 'cursor' } } }),
];

/** A clock in another time zone, on another day, or never set. */
function wrongDate(random: Random, atMs: number): string {
  const dayMs = 86_400_000;
  const wrongMs = pick(random, [
    Date.parse('9999-12-31T23:59:59Z'),
    0,
    atMs + 3 * dayMs,
    atMs - 3 * dayMs,
    atMs + between(random, -dayMs, dayMs),
  ]);
  return new Date(wrongMs).toUTCString();
}

/** Whether the answer arrives completely. */
const isGood = (incident: AnswerIncident | undefined) => incident !== 'cut-off' && incident !== 'reset';

export function createSimTransport(world: SimWorld, process: Process, seen: Seen): Transport {
  const { scheduler, log, phase, service, history } = world;
  const { rates } = world.plan;

  function answer(wire: WireRequest, circumstances: Circumstances): Given {
    const url = new URL(wire.path, 'http://service');
    if (url.pathname.endsWith('/oauth/token')) {
      const response = tokens(wire, circumstances);
      if (response.status === 403) world.traffic.answeredForbidden(url.pathname);
      return { response };
    }
    const access = tokenIn(wire);
    const account = service.tokens.accountOf(access) ?? '';
    const given = judged({ account, access, url }, circumstances);
    if (url.pathname.includes('/status/')) noteRestart(account, url, given.response);
    const { status, body } = given.response;
    // An answer to a request with a cursor may be only about the cursor.
    const isOfAddress = !url.searchParams.has('cursor');
    if (status === 403 && !body.includes('insufficient_scope') && isOfAddress)
      world.traffic.answeredForbidden(`${account} ${url.pathname}`);
    return given;
  }

  /** Records a restart without the cursor that failed too: then the cursor was not the reason. */
  function noteRestart(account: string, url: URL, { status }: SimResponse): void {
    const hadCursor = url.searchParams.has('cursor');
    if (!hadCursor && status !== 200 && seen.refusedCursors.has(account))
      world.coverage.count('drain: started over in vain');
    if (hadCursor && [400, 403, 404, 409, 410, 422].includes(status)) seen.refusedCursors.add(account);
    else seen.refusedCursors.delete(account);
  }

  function judged(
    { account, access, url }: { account: string; access: string; url: URL },
    circumstances: Circumstances,
  ): Given {
    const { incident, random } = circumstances;
    const trouble = world.troubleOf(nameOf(account), url.pathname, random);
    const isGone = trouble?.status === 404 && world.plan.goneLong === true;
    if (trouble && !isGone) return { response: trouble };
    const spoil = incident && spoiled[incident];
    if (spoil) return { response: spoil(random) };
    if (!service.tokens.accepts(account, access)) {
      world.tokenWatch.rejected(access);
      return { response: own(401, 'invalid_token') };
    }
    if (!service.tokens.suffices(access)) return { response: own(403, 'insufficient_scope') };
    return url.pathname.includes('/status/')
      ? feed(account, url, circumstances)
      : advert({ user: account, pathname: url.pathname, isGone }, circumstances);
  }

  function tokens(wire: WireRequest, { incident, random }: Circumstances): SimResponse {
    const { refresh_token: text, code } = JSON.parse(wire.body ?? '{}') as Record<string, string | undefined>;
    const owner = nameOf(service.tokens.accountOf(text ?? '') ?? '');
    const trouble = world.troubleOf(owner, wire.path, random);
    if (trouble) return trouble;
    const spoil =
      incident && incident !== 'wrong-shape' && incident !== 'not-json' ? spoiled[incident] : undefined;
    if (spoil) return spoil(random);
    const { status, body } =
      code === undefined ? service.tokens.refresh(text ?? '') : service.tokens.exchange(code);
    if (code !== undefined && status !== 200) world.coverage.count('service: one-time code refused');
    if (text !== undefined && body.refresh_token !== undefined && body.refresh_token !== text)
      world.coverage.count('service: refresh token rotated');
    return json(status, body);
  }

  function feed(account: string, url: URL, { incident, random }: Circumstances): Given {
    const asked = url.searchParams;
    const cursor = asked.get('cursor') ?? undefined;
    if (incident === 'cursor-rejected' && cursor !== undefined) service.rejectCursors(account);
    const limit = Number(asked.get('limit') ?? 1_000);
    const page = service.page(account, asked.get('since') ?? '', { cursor, limit }, random);
    if (!page) world.coverage.count('service: cursors rejected');
    else if (page.data.length > 0 && service.isPageAgain(page))
      world.coverage.count('drain: page read again');
    if (!page) return { response: rejections[world.plan.rejectionStyle % rejections.length] as SimResponse };
    const { data, hasMore, cursor: nextCursor } = page;
    return { response: json(200, { data, hasMore, nextCursor }), page };
  }

  function advert(
    { user, pathname, isGone }: { user: string; pathname: string; isGone: boolean },
    { incident, beganTick }: Circumstances,
  ): Given {
    const account = nameOf(user);
    const advertId = pathname.split('/').at(-1) ?? '';
    const status = isGone ? null : service.status(user, advertId, world.plan.advertLagMs);
    const moment = { beganTick, seenTick: scheduler.tick(), seenAt: scheduler.now() };
    const fetch: Fetch = { account, user, advertId, process: process.name, status, ...moment };
    if (status === null) return { response: own(404, 'advert_not_found'), fetch };
    const id = incident === 'wrong-id' ? '77' : advertId;
    return {
      response: { status: 200, body: `{"data":{"id":${id},"status":${JSON.stringify(status)}}}` },
      fetch,
    };
  }

  /** Whether the request fetches the advert that kills its worker. */
  const killsProcess = ({ path }: WireRequest): boolean =>
    path.endsWith('/adverts/11') &&
    world.plan.accounts.some((name) => world.isTroubled('killer-advert', name));

  return {
    close: () => undefined,
    send(wire, timeoutMs) {
      if (process.isDead()) return never();
      const { key, random } = process.nextCall();
      const drawn = phase.chaos ? drawIncident(random, rates, answerIncidents) : undefined;
      const [requestMs, answerMs] = [between(random, 2, 30), between(random, 2, 30)];
      const slowMs = between(random, 500, 9_000);
      const lateMs = wire.path.endsWith('/oauth/token') ? (world.plan.tokenAnswerMs ?? 0) : 0;
      const what = () => `${wire.method} ${decodeURIComponent(wire.path)}`;
      const incident =
        drawn && log.allows(key, () => `${process.name}: ${drawn} at ${what()}`) ? drawn : undefined;
      if (incident) world.coverage.count(`request: ${incident}`);
      process.trace(() => `${what()}${incident ? `  [${incident}]` : ''}`);
      const beganTick = scheduler.tick();
      if (killsProcess(wire)) {
        process.die('over a killer advert');
        return never();
      }
      const endOfRequest = world.requestStarted(process, wire);

      return new Promise<Answer>((resolve, reject) => {
        let given: Given | undefined;
        let givenAt = 0;
        const settle = (ms: number, end: () => void) =>
          scheduler.after(Math.min(ms, timeoutMs), () => {
            const isGiven = ms <= timeoutMs && isGood(incident) && given?.response.status === 200;
            endOfRequest(isGiven ? given?.response.body : undefined);
            process.arrive(() => (ms > timeoutMs ? reject(new NoAnswerError('timeout')) : end()));
          });
        if (incident === 'reset') {
          settle(requestMs, () => reject(new NoAnswerError('not-connected')));
          return;
        }
        const usualMs = requestMs + answerMs + lateMs + (incident === 'slow' ? slowMs : 0);
        const wholeMs = incident === 'timeout' ? Number.POSITIVE_INFINITY : usualMs;
        scheduler.after(requestMs, () => {
          given = answer(wire, { incident, random, beganTick });
          givenAt = scheduler.now();
        });
        settle(wholeMs, () => {
          if (!given) return;
          const { response, page, fetch } = given;
          if (response === noAnswer)
            return void scheduler.after(timeoutMs, () => reject(new NoAnswerError('timeout')));
          if (incident === 'cut-off' || response === closed) return reject(new NoAnswerError('cut-off'));
          process.trace(() => `  answered ${response.status} ${world.readable(response.body)}`);
          if (page) {
            const key = nameOf(page.account);
            seen.pages.set(key, [...(seen.pages.get(key) ?? []), page]);
          }
          if (fetch && (incident !== 'wrong-id' || response.status !== 200)) {
            seen.fetches.set(`${fetch.account}/${fetch.advertId}`, fetch);
            history.fetched(fetch);
          }
          const headers: Record<string, string> = { ...response.headers };
          const seconds = headers['retry-after'];
          // Only a 429 is about all requests.
          if (seconds !== undefined && response.status === 429)
            world.traffic.askedToWait(process, Number(seconds) * 1_000);
          if (incident === 'wrong-date') headers.date = wrongDate(random, givenAt);
          else if (world.plan.sendsDate) headers.date = new Date(givenAt).toUTCString();
          resolve({ status: response.status, head: { headers }, body: response.body });
        });
      });
    },
  };
}

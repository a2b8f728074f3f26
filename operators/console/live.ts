/** Reads the bridge again and again, remembers the last half hour, and tells the pages that are open. */
import * as v from 'valibot';
import { advertIdPattern, partnerAccountName } from '../../shared/contract/checks.ts';
import type { Envelope } from '../../shared/contract/events.ts';
import { isYoung } from '../../shared/domain/clock.ts';
import type { Bridge } from '../operations/bridge.ts';
import { type DeadLetterList, listDeadLetters, shownDeadLetter } from '../operations/dead-letters.ts';
import { findingsOf } from '../operations/findings/findings.ts';
import { printedHistory } from '../operations/findings/history-text.ts';
import { readHistory } from '../operations/history.ts';
import { readStatus } from '../operations/status.ts';
import { createHalfHour } from './half-hour.ts';
import type { ConsoleOptions } from './options.ts';
import type { Action, ShownDeadLetters, ShownEvent, ShownHistory, Snapshot, Work } from './snapshot.ts';

export type Push = (event: 'snapshot' | 'events' | 'plots' | 'heartbeat', data: unknown) => void;

/** An embedded bridge is read from its file; each look at a stack costs requests of AWS. */
const lookMs = { local: 1_000, stack: 10_000 };
/** Looks at a bridge with many accounts take long: between them, the console rests for this many times as long. */
const restsFor = 4;
const workLookMs = 5_000;
/** As many events as the page keeps. */
const keptEvents = 500;
/** Events from before, for the plot; those of which the page keeps fewer. */
const countedEvents = 5_000;
const maxShown = 100;

const historyQuery = v.strictObject({
  account: partnerAccountName,
  advert: v.pipe(v.string(), v.regex(advertIdPattern)),
});
const deadLettersQuery = v.strictObject({ filter: v.optional(v.pipe(v.string(), v.maxLength(200)), '') });

export type Live = ReturnType<typeof createLive>;

export function createLive({ bridge, command, say, breaks }: ConsoleOptions, shown: Snapshot['bridge']) {
  const { clock, host } = bridge;
  const pushes = new Set<Push>();
  const events: ShownEvent[] = [];
  const halfHour = createHalfHour(clock.now());
  let workReadMs = Number.NEGATIVE_INFINITY;
  let listed: DeadLetterList['deadLetters'] = [];
  let listedOf: number | undefined;
  let snapshot: Snapshot = {
    bridge: shown,
    at: clock.now(),
    facts: null,
    findings: [],
    error: null,
    deadLetters: {},
    lastEvents: {},
    work: [],
    actions: [],
    denied: [],
    breaks: breaks?.list() ?? [],
  };

  const plots = () => halfHour.plots(clock.now(), snapshot.facts?.answers ?? null);

  function push(event: Parameters<Push>[0], data: unknown): void {
    for (const one of pushes) one(event, data);
  }

  function show(change: Partial<Snapshot>): void {
    snapshot = { ...snapshot, ...change, breaks: breaks?.list() ?? [] };
    push('snapshot', snapshot);
  }

  async function look(): Promise<void> {
    const nowMs = clock.now();
    const facts = await readStatus(bridge, nowMs);
    const settings = await bridge.settings().catch(() => undefined);
    // Those of the process that sends, which may have begun after this one.
    const requestsPerSecond = facts.answers?.maxRequestsPerSecond ?? settings?.maxRequestsPerSecond ?? null;
    const pollSeconds = settings?.pollSeconds ?? null;
    const findings = findingsOf(facts, { nowMs, kind: host.kind, command });
    const { deadLetters } = facts.queue;
    if (deadLetters !== listedOf) {
      listed = deadLetters === 0 ? [] : (await listDeadLetters(bridge, {})).deadLetters;
      listedOf = deadLetters;
    }
    const ofAccount = Map.groupBy(listed, ({ partnerAccount }) => partnerAccount ?? '');
    const isWorkDue = !isYoung(workReadMs, nowMs, workLookMs);
    if (isWorkDue) workReadMs = nowMs;
    show({
      at: nowMs,
      facts,
      findings,
      error: null,
      bridge: { ...shown, requestsPerSecond, pollSeconds },
      deadLetters: Object.fromEntries([...ofAccount].map(([name, some]) => [name, some.length])),
      ...(isWorkDue && { work: await readWork(bridge, facts.partnerAccounts) }),
    });
    const lags = facts.partnerAccounts.flatMap(({ lagSeconds }) => lagSeconds ?? []);
    const isNew = halfHour.note(nowMs, {
      Lag: lags.length === 0 ? null : Math.max(...lags),
      Waiting: facts.queue.waiting,
    });
    if (isNew) push('plots', plots());
  }

  async function watchFacts(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begunMs = clock.now();
      await look().catch((error: Error) => show({ error: error.message }));
      const tookMs = clock.now() - begunMs;
      await clock.sleep(Math.max(lookMs[host.kind], restsFor * tookMs), signal);
    }
  }

  async function watchEvents(signal: AbortSignal): Promise<void> {
    for await (const envelopes of bridge.events(undefined, { signal, say, recent: countedEvents })) {
      const published = envelopes.map(shownEvent);
      if (published.length === 0) continue;
      events.push(...published);
      events.splice(0, events.length - keptEvents);
      for (const { time } of published) halfHour.countEvent(Date.parse(time));
      snapshot = { ...snapshot, lastEvents: { ...snapshot.lastEvents, ...timesOf(published) } };
      push('events', published);
    }
  }

  return {
    /** Tells `one` what is known, and then each change. @returns ends that */
    subscribe(one: Push): () => void {
      one('snapshot', snapshot);
      one('plots', plots());
      one('events', events);
      pushes.add(one);
      return () => pushes.delete(one);
    },

    showActions: (actions: readonly Action[], denied: readonly string[]): void => show({ actions, denied }),

    /** Reads until `signal` is aborted. */
    async run(signal: AbortSignal): Promise<void> {
      const past = host.kind === 'stack' ? host.past(clock.now()) : Promise.resolve([]);
      await past.then(
        (minutes) => minutes.forEach(halfHour.fill),
        (error: Error) => say(`The plots begin empty: ${error.message}`),
      );
      const unseen = watchEvents(signal).catch((error: Error) =>
        say(`Events are not shown: ${error.message}`),
      );
      await Promise.all([watchFacts(signal), unseen]);
    },

    /** @throws {v.ValiError} for another query; {UsageError} for an unknown partner account */
    async history(query: unknown): Promise<ShownHistory> {
      const { account, advert } = v.parse(historyQuery, query);
      const asked = { partnerAccount: account, advertId: advert };
      const { answer, latest } = printedHistory(await readHistory(bridge, asked));
      const seen = events.filter((one) => one.partnerAccount === account && one.advertId === advert);
      const last = latest ? [shownEvent(JSON.stringify(latest))] : [];
      const isSeen = seen.some(({ time }) => time === last[0]?.time);
      return { answer, events: [...(isSeen ? [] : last), ...seen.toReversed()] };
    },

    /** @throws {v.ValiError} for another query */
    async deadLetters(query: unknown): Promise<ShownDeadLetters> {
      const { filter } = v.parse(deadLettersQuery, query);
      const words = filter.toLowerCase().split(/\s+/);
      const matching = listed.filter(({ id, partnerAccount, advertId, fault, reason, at }) => {
        const text = [id, partnerAccount, advertId, fault, reason, at].join(' ').toLowerCase();
        return words.every((word) => text.includes(word));
      });
      return {
        matching: matching.length,
        total: listed.length,
        deadLetters: matching.slice(0, maxShown).map(shownDeadLetter),
        ids: matching.map(({ id }) => id),
      };
    },
  };
}

/** Backfills and audits that are not done. */
async function readWork(
  { backfills, audits }: Bridge,
  accounts: readonly { readonly name: string; readonly generation: number }[],
): Promise<Work[]> {
  const current = new Set(accounts.map(({ name, generation }) => `${name}/${generation}`));
  const listed = await Promise.all([backfills.list(), audits.list()]);
  return (['backfill', 'audit'] as const).flatMap((kind, index) =>
    (listed[index] ?? []).flatMap(({ partnerAccount, generation, value }): Work[] => {
      if (value.state === 'done' || !current.has(`${partnerAccount}/${generation}`)) return [];
      return [{ kind, partnerAccount, state: value.state, listed: value.listed, total: value.total ?? null }];
    }),
  );
}

function shownEvent(envelope: string): ShownEvent {
  const { 'detail-type': type, time, detail } = JSON.parse(envelope) as Envelope;
  const { metadata, data } = detail;
  const { partnerAccount } = metadata;
  if (!('advertId' in data)) {
    return { time, partnerAccount, advertId: '', previous: null, status: null, cause: '', about: type };
  }
  const cause = 'cause' in metadata ? metadata.cause : '';
  return {
    time,
    partnerAccount,
    advertId: data.advertId,
    previous: data.previousStatus,
    status: data.status,
    cause,
  };
}

const timesOf = (published: readonly ShownEvent[]): Record<string, string> =>
  Object.fromEntries(published.map(({ partnerAccount, time }) => [partnerAccount, time]));

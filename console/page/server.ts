/** The page's side of the server: what it pushes, and what it is asked. */
import type { Received, ShownDeadLetters, ShownEvent, ShownHistory } from '../snapshot.ts';

/** A console that has not said anything for so long is gone. */
const silentMs = 6_000;
/** As many events as the page keeps. */
const keptEvents = 500;

/** Calls `onChange` with everything that was received so far, at each change. */
export function listen(onChange: (received: Received) => void): void {
  let received: Received = { events: [], isCutOff: false };
  // Not the clock, which may jump.
  let heardMs = performance.now();
  const change = (part: Partial<Received>) => {
    received = { ...received, ...part };
    onChange(received);
  };
  const heard = (part: Partial<Received>) => {
    heardMs = performance.now();
    if (received.isCutOff || Object.keys(part).length > 0) change({ ...part, isCutOff: false });
  };

  function open(): void {
    const source = new EventSource('/stream');
    // After a new connection the server sends the events that it has, so the page begins again.
    let isFirst = true;
    source.addEventListener('heartbeat', () => heard({}));
    source.addEventListener('snapshot', ({ data }) => heard({ snapshot: JSON.parse(data) }));
    source.addEventListener('plots', ({ data }) => heard({ plots: JSON.parse(data) }));
    source.addEventListener('events', ({ data }) => {
      const newest = (JSON.parse(data) as ShownEvent[]).reverse();
      heard({ events: [...newest, ...(isFirst ? [] : received.events)].slice(0, keptEvents) });
      isFirst = false;
    });
    source.addEventListener('open', () => {
      isFirst = true;
    });
  }

  open();
  setInterval(() => {
    if (!received.isCutOff && performance.now() - heardMs > silentMs) change({ isCutOff: true });
  }, 1_000);
}

export const readHistory = (account: string, advert: string): Promise<ShownHistory> =>
  get(`/history?${new URLSearchParams({ account, advert })}`);

export const readDeadLetters = (filter: string): Promise<ShownDeadLetters> =>
  get(`/dead-letters?${new URLSearchParams({ filter })}`);

async function get<T>(path: string): Promise<T> {
  return answerOf(await fetch(path));
}

/** Asks the server to do something. @throws {Error} that says why it does not */
export async function act(action: object): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  await answerOf(await fetch('/actions', { method: 'POST', headers, body: JSON.stringify(action) }));
}

async function answerOf<T>(response: Response): Promise<T> {
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

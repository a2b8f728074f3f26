/** The page's side of the server: what it pushes, and what it is asked. */
import type { Received, ShownDeadLetters, ShownEvent, ShownHistory } from '../snapshot.ts';

/** A console that has not said anything for so long is gone. */
const silentMs = 6_000;
/** As many events as the page keeps. */
const keptEvents = 500;
const reconnectMs = 1_000;

const keyName = 'key';
/** The console's address leads here with the key, as the fragment. */
let given = location.hash.slice(1);
const headers = () => ({ Authorization: `Bearer ${given || localStorage.getItem(keyName)}` });

/** Keeps a key that the server accepted for all tabs of this origin. One from a foreign link replaces nothing. */
function keepKey(): void {
  if (given === '') return;
  localStorage.setItem(keyName, given);
  given = '';
  history.replaceState(null, '', '/');
}

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
    if (received.isCutOff || Object.keys(part).length > 0)
      change({ ...part, isCutOff: false, refused: undefined });
  };

  /** Reads what the server pushes, until the connection ends. */
  async function read(): Promise<void> {
    const response = await fetch('/stream', { headers: headers() });
    if (!response.ok) return change({ isCutOff: true, refused: (await response.json()).error });
    keepKey();
    // The server sends all events that it has on each connection, so the page begins again.
    let isFirst = true;
    for await (const [event, data] of pushedMessages(response)) {
      if (event !== 'events') heard(event === 'heartbeat' ? {} : { [event]: data });
      else {
        const newest = (data as ShownEvent[]).reverse();
        heard({ events: [...newest, ...(isFirst ? [] : received.events)].slice(0, keptEvents) });
        isFirst = false;
      }
    }
  }

  async function readAlways(): Promise<void> {
    for (;;) {
      await read().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, reconnectMs));
    }
  }

  void readAlways();
  setInterval(() => {
    if (!received.isCutOff && performance.now() - heardMs > silentMs) change({ isCutOff: true });
  }, 1_000);
}

export const fetchHistory = (account: string, advert: string): Promise<ShownHistory> =>
  get(`/history?${new URLSearchParams({ account, advert })}`);

export const readDeadLetters = (filter: string): Promise<ShownDeadLetters> =>
  get(`/dead-letters?${new URLSearchParams({ filter })}`);

async function get<T>(path: string): Promise<T> {
  return answerOf(await fetch(path, { headers: headers() }));
}

/** Asks the server to do something. @throws {Error} that says why it does not */
export async function act(action: object): Promise<void> {
  const request = { method: 'POST', headers: { ...headers(), 'Content-Type': 'application/json' } };
  await answerOf(await fetch('/actions', { ...request, body: JSON.stringify(action) }));
}

async function answerOf<T>(response: Response): Promise<T> {
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Server-sent events, each with its name and its data. */
async function* pushedMessages(response: Response): AsyncGenerator<[event: string, data: unknown]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const messages = `${rest}${part.value}`.split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) {
      const [event = '', data = ''] = message.split('\ndata: ');
      yield [event.replace('event: ', ''), JSON.parse(data)];
    }
  }
}

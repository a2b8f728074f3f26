import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { printableLine as printable } from '../../../shared/domain/text.ts';
import type { ShownEvent, ShownHistory, Snapshot } from '../snapshot.ts';
import { time } from './format.ts';
import { fetchHistory } from './server.ts';

/** The page shows the newest; all that were received remain in the page's memory for the history. */
const maxShown = 100;
/** A list of more accounts is slower to read than a name is to type. */
const maxOffered = 20;

/** Published events, and the history of one advert. */
export function Events({ events, snapshot }: { events: readonly ShownEvent[]; snapshot: Snapshot }) {
  const names = snapshot.facts?.partnerAccounts.map(({ name }) => name) ?? [];
  const [account, setAccount] = useState('');
  const [advert, setAdvert] = useState('');
  const [history, setHistory] = useState<ShownHistory & { readonly of: string }>();
  const [refused, setRefused] = useState('');

  async function look(name: string, id: string): Promise<void> {
    setAccount(name);
    setAdvert(id);
    try {
      setHistory({ ...(await fetchHistory(name, id)), of: `${name}, advert ${id}` });
      setRefused('');
    } catch (error) {
      setHistory(undefined);
      setRefused(error instanceof Error ? error.message : String(error));
    }
  }

  const submit = (event: Event) => {
    event.preventDefault();
    void look(account || (names[0] ?? ''), advert.trim());
  };
  return html`
    <section aria-labelledby="events">
      <h2 id="events">Events</h2>
      <div class="log" role="log" aria-labelledby="events" tabindex="0">
        ${events.slice(0, maxShown).map((event) => html`<${Line} event=${event} look=${look} />`)}
      </div>
      ${events.length === 0 && html`<p>None was published since this console began.</p>`}
      <form class="inline" onSubmit=${submit}>
        ${
          names.length > maxOffered &&
          html`<label>Account
            <input type="text" value=${account} required maxlength="64" onInput=${(event: InputEvent) => setAccount((event.target as HTMLInputElement).value)} />
          </label>`
        }
        ${
          names.length > 1 &&
          names.length <= maxOffered &&
          html`<label>Account
            <select value=${account || names[0]} onChange=${(event: Event) => setAccount((event.target as HTMLSelectElement).value)}>
              ${names.map((name) => html`<option key=${name}>${name}</option>`)}
            </select>
          </label>`
        }
        <label>Advert
          <input type="text" value=${advert} required maxlength="200" onInput=${(event: InputEvent) => setAdvert((event.target as HTMLInputElement).value)} />
        </label>
        <button>History</button>
      </form>
      <p role="alert">${printable(refused)}</p>
      ${history && html`<${History} history=${history} />`}
    </section>
  `;
}

function Line({ event, look }: { event: ShownEvent; look: (name: string, id: string) => Promise<void> }) {
  const { partnerAccount, advertId, about } = event;
  return html`<p>
    <time datetime=${event.time}>${time(event.time)}</time>${' '}
    <span>${partnerAccount}</span>${' '}
    ${
      about
        ? html`<span>${about}</span>`
        : html`<button class="link" onClick=${() => look(partnerAccount, advertId)}>advert ${printable(advertId)}</button>${' '}
          <${Change} event=${event} />`
    }
  </p>`;
}

function Change({ event: { previous, status, cause } }: { event: ShownEvent }) {
  const text = (value: string | null, otherwise: string) => printable(value ?? otherwise);
  return html`<span>${text(previous, 'none')} → <strong>${text(status, 'unavailable')}</strong>${
    cause === 'feed' ? '' : ` (${cause})`
  }</span>`;
}

const History = ({
  history: { of, answer, events },
}: {
  history: ShownHistory & { readonly of: string };
}) => html`
  <section class="history" aria-label="History">
    <h3>${of}</h3>
    <p>${printable(answer)}</p>
    <ol>${events.map((event) => html`<li><time datetime=${event.time}>${time(event.time)}</time> <${Change} event=${event} /></li>`)}</ol>
  </section>
`;

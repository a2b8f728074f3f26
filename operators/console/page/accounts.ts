import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { count, duration, wordsOf } from '../../operations/figures.ts';
import type { Facts, Snapshot } from '../snapshot.ts';
import type { Question } from './dialog.ts';
import { commandLine, readable, time } from './format.ts';
import { inTime, isTrying } from './verdict.ts';
import { Wide } from './wide.ts';

type Account = Facts['partnerAccounts'][number];
export type Ask = (question: Question) => void;

/** More would make the page slow; *Find account* reaches the others. */
const maxShown = 100;
/** With more accounts than this there is something to find. */
const minToFind = 10;

/** The partner accounts, worst first. */
export function Accounts({ snapshot, ask }: { snapshot: Snapshot; ask: Ask }) {
  const [find, setFind] = useState('');
  const { facts, bridge } = snapshot;
  const accounts = facts?.partnerAccounts ?? [];
  const found = accounts.filter(({ name }) => name.includes(find)).sort((a, b) => urgency(b) - urgency(a));
  const rest = found.length - maxShown;
  return html`
    <section aria-labelledby="accounts">
      <h2 id="accounts">Partner accounts</h2>
      ${
        accounts.length >= minToFind &&
        html`<label>Find account
          <input type="search" value=${find} onInput=${(event: InputEvent) => setFind((event.target as HTMLInputElement).value)} />
        </label>`
      }
      <${Wide} label="partner accounts">
        <table aria-labelledby="accounts">
          <thead><tr>
            <th scope="col">Name</th><th scope="col">State</th><th scope="col">Lag</th><th scope="col">Waiting</th>
            <th scope="col">Dead letters</th><th scope="col">Last event</th>${!bridge.isReadOnly && html`<th scope="col">Actions</th>`}
          </tr></thead>
          <tbody>${found.slice(0, maxShown).map((account) => html`<${Row} key=${account.name} ...${{ account, snapshot, ask }} />`)}</tbody>
        </table>
      <//>
      ${accounts.length === 0 && html`<p>None is connected. Connect one: <code>${commandLine(bridge, 'connect NAME')}</code></p>`}
      ${rest > 0 && html`<p>And ${count(rest)} more. Find one by its name.</p>`}
    </section>
  `;
}

/** The worst have the greatest. */
function urgency({ state, reason, needsPerson, lagSeconds }: Account): number {
  const rank = needsPerson ? 3 : state === 'polling' ? Number(reason !== null) : 2;
  return rank * 1e9 + (lagSeconds ?? 0);
}

function Row({ account, snapshot, ask }: { account: Account; snapshot: Snapshot; ask: Ask }) {
  const { name, state, reason, hold, nextTrial, lastCursorReset, lagSeconds, books } = account;
  const rate = snapshot.bridge.requestsPerSecond;
  // What failed or was redriven comes back at half of the rate; while the account is on hold, only single requests go out.
  const isTimed = rate !== null && hold === null && books.inFlight >= rate;
  const waits = isTimed ? ` (at most ${duration((2 * books.inFlight) / rate)})` : '';
  const last = snapshot.lastEvents[name];
  const { shown, tone } = stateOf(account, snapshot.facts);
  return html`<tr>
    <th scope="row">${name}</th>
    <td><span class=${`state ${tone}`}>${shown}</span>
      ${reason && html`<span class="reason">${state === 'stopped' ? wordsOf(reason) : readable(reason)}</span>`}
      ${nextTrial && html`<span class="reason">tries again ${inTime(nextTrial, Date.now())}</span>`}
      ${lastCursorReset && html`<span class="reason">cursor rejected ${time(lastCursorReset)}: its feed was read again</span>`}</td>
    <td class="short">${lagSeconds === null ? 'no feed' : duration(lagSeconds)}</td>
    <td class="short">${count(books.inFlight)}${waits}</td>
    <td>${count(snapshot.deadLetters[name] ?? 0)}</td>
    <td>${last ? html`<time datetime=${last}>${time(last)}</time>` : 'none seen yet'}</td>
    ${
      !snapshot.bridge.isReadOnly &&
      html`<td><div class="buttons">${questionsFor(account, snapshot.bridge).map(
        (question) => html`<${Asking} key=${question.label} of=${name} ...${{ question, snapshot, ask }} />`,
      )}</div></td>`
    }
  </tr>`;
}

/** Polling is green only if it is done, and succeeds. */
function stateOf(account: Account, facts: Facts | null): { readonly shown: string; readonly tone: string } {
  const { state } = account;
  if (state === 'stopped') return { shown: state, tone: 'fault' };
  if (state === 'paused') return { shown: state, tone: 'attention' };
  if (facts?.paused || facts?.pausedUntil || facts?.isRunning === false)
    return { shown: 'not polled', tone: 'attention' };
  return isTrying(account) ? { shown: 'trying again', tone: 'attention' } : { shown: state, tone: 'well' };
}

/** A button that asks first; it says when AWS denied the same before. */
export function Asking({
  question,
  of,
  snapshot,
  ask,
  isOff = false,
}: {
  question: Labelled;
  of: string;
  snapshot: Snapshot;
  ask: Ask;
  isOff?: boolean;
}) {
  const { label, kind } = question;
  const isDenied = snapshot.denied.includes(kind);
  const name = `${label} ${of}`.trim();
  return html`<button aria-label=${isDenied ? `${name}: AWS denies it` : name} disabled=${isDenied || isOff}
    onClick=${() => ask(question)}>${label}${isDenied && ' (AWS denies it)'}</button>`;
}

/** @property kind the action, such as `pause` */
export type Labelled = Question & { readonly label: string; readonly kind: string };

/** @param name without it, the whole bridge */
export function pauseOrResume(isPaused: boolean, bridge: Snapshot['bridge'], name?: string): Labelled {
  const [verb, kind] = isPaused ? ['Resume', 'resume'] : ['Pause', 'pause'];
  const button = `${verb} ${name ?? 'the whole bridge'}`;
  return {
    label: name === undefined ? `${verb} everything` : verb,
    kind,
    heading: `${button}?`,
    button,
    says: isPaused
      ? 'Polling begins again, and what waits is fetched. Any other pause stays.'
      : 'No request is sent to the partner service until somebody resumes it. Nothing is lost.',
    ...(!isPaused && { field: { label: 'Why?', name: 'reason', type: 'text' } }),
    command: commandLine(bridge, name === undefined ? kind : `${kind} ${name}`),
    action: (reason) => ({ action: kind, ...(name && { name }), ...(reason && { reason }) }),
  };
}

/** What can be done with an account. */
function questionsFor({ name, paused }: Account, bridge: Snapshot['bridge']): Labelled[] {
  const steer = (label: string, action: string, says: string, more: Partial<Question> = {}): Labelled => ({
    label,
    kind: action,
    heading: `${label}: ${name}`,
    says,
    button: `${label} ${name}`,
    command: commandLine(bridge, `${action} ${name}`),
    action: () => ({ action, name }),
    ...more,
  });
  return [
    pauseOrResume(Boolean(paused), bridge, name),
    steer('Poll now', 'poll', 'Reads its feed once, without waiting for the next poll.'),
    steer(
      'Resync',
      'resync',
      'Reads its feed again from a time. What was delivered already is not published again.',
      {
        command: commandLine(bridge, `resync ${name} --since TIME`),
        field: { label: 'From', name: 'since', type: 'datetime-local' },
        action: (local) => ({ action: 'resync', name, since: new Date(local).toISOString() }),
      },
    ),
    steer(
      'Backfill',
      'backfill',
      'Fetches every one of its adverts once. Those without an event, or with another status, get one.',
    ),
    steer('Audit', 'audit', 'Compares every published advert with the service, and repairs what differs.'),
  ];
}

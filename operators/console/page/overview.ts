import { html } from 'htm/preact';
import { printableLine as printable, printableLines } from '../../../shared/domain/text.ts';
import { answersLines, count, duration } from '../../operations/figures.ts';
import type { Action, Facts, Finding, Snapshot, Work } from '../snapshot.ts';
import { type Ask, Asking, pauseOrResume } from './accounts.ts';
import { counted, readable, takersText, time } from './format.ts';
import { needing, type Verdict } from './verdict.ts';

/** One look: does it work? */
export const Header = ({
  verdict,
  snapshot,
  ask,
}: {
  verdict: Verdict;
  snapshot: Snapshot | undefined;
  ask: Ask;
}) => html`
  <header class=${verdict.tone}>
    <h1>${verdict.title}</h1>
    <p role="status">${readable(verdict.sentence)}${verdict.command && html` <code>${verdict.command}</code>`}</p>
    ${verdict.passing && html`<p class="passing">${verdict.passing}</p>`}
    <p class="where">Advert Bridge${snapshot && ` ${snapshot.bridge.version}: ${snapshot.bridge.kind === 'local' ? 'the embedded bridge in' : 'stack'} ${snapshot.bridge.name}`}</p>
    ${snapshot && !snapshot.bridge.isReadOnly && html`<div class="buttons"><${Asking} of="" question=${pauseOrResume(snapshot.facts?.paused != null, snapshot.bridge)} ...${{ snapshot, ask }} /></div>`}
  </header>
`;

/** Commands stand in backticks. */
const withCode = (text: string) =>
  readable(text)
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));

/** What needs somebody, with the command that mends it; then notes. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  const notes = findings.filter(({ severity }) => severity === 'note');
  const shown = [...needing(findings), ...notes];
  if (shown.length === 0) return null;
  return html`<section aria-labelledby="findings">
    <h2 id="findings">What was found</h2>
    <ul class="findings">${shown.map(
      ({ severity, says, advice, mend, page, since, runbook }) => html`<li class=${severity}>
        <strong>${severity}</strong> ${withCode([says, advice].filter(Boolean).join(' '))}${since && html` <span class="reason">since ${time(since)}</span>`}
        ${mend && html`<p class="command">${page ?? html`<code>${printableLines(mend)}</code>`}</p>`}${runbook && html`<p class="reason">docs/operate/runbook.md#${runbook}</p>`}
      </li>`,
    )}</ul>
  </section>`;
}

function waitingText({ queue, oldestWaitingSeconds: oldest }: Facts): string {
  if (queue.waiting === 0) return 'nothing waits';
  return oldest === null ? 'not known for how long' : `the oldest for ${duration(oldest)}`;
}

/** The flow as it is. */
export function Flow({ facts, kind }: { facts: Facts; kind: Snapshot['bridge']['kind'] }) {
  const { partnerAccounts, queue, lastDrain } = facts;
  const sum = (of: (books: (typeof partnerAccounts)[number]['books']) => number) =>
    partnerAccounts.reduce((total, { books }) => total + of(books), 0);
  const steps = [
    [
      'Feed',
      `${count(sum(({ listed }) => listed))} changes listed`,
      lastDrain ? `last polled ${time(lastDrain)}` : 'not polled yet',
    ],
    ['Queue', `${count(queue.waiting)} waiting`, waitingText(facts)],
    [
      'Adverts',
      `${count(sum(({ unchanged, coalesced }) => unchanged + coalesced))} without a new status`,
      counted(queue.deadLetters, 'dead letter'),
    ],
    [
      kind === 'stack' ? 'Bus' : 'Events',
      `${count(sum(({ events }) => events))} events`,
      `${count(sum(({ unavailable }) => unavailable))} of adverts that are gone`,
    ],
  ] as const;
  return html`<ol class="flow" aria-label="The flow">${steps.map(
    ([name, first, second]) =>
      html`<li key=${name}><p><strong>${name}</strong></p><p>${first}</p><p class="reason">${second}</p></li>`,
  )}</ol>`;
}

/** What the service answered, and how much of the rate is used. */
export const Service = ({ answers }: { answers: Facts['answers'] }) => html`
  <section aria-labelledby="service">
    <h2 id="service">Partner service</h2>
    ${answers ? answersLines(answers).map((line) => html`<p>${line[0]?.toUpperCase()}${line.slice(1)}.</p>`) : html`<p>Nothing was requested yet.</p>`}
  </section>
`;

/** What the events go to, and what AWS runs. */
export function Surroundings({ facts }: { facts: Facts }) {
  const { webhooks = [], schedule, mapping, alarms, rules, subscribers } = facts;
  const takers = takersText(rules, subscribers);
  if (webhooks.length === 0 && schedule === undefined) return null;
  return html`<section aria-labelledby="around">
    <h2 id="around">${schedule === undefined ? 'Webhooks' : 'On AWS'}</h2>
    <ul>
      ${webhooks.map(
        ({ address, state, waiting, lastAnswer }) =>
          html`<li>${printable(address)}: ${state}, ${counted(waiting, 'event')} waiting${lastAnswer && html` <span class="reason">${readable(lastAnswer)}</span>`}</li>`,
      )}
      ${schedule !== undefined && html`<li>schedule ${schedule}</li><li>reading from the queue ${mapping}</li><li>${counted(alarms?.length ?? 0, 'alarm')} raised</li>`}
      ${takers && html`<li>${takers}</li>`}
    </ul>
  </section>`;
}

/** What is at work, and what was done here. */
export const Doing = ({
  work,
  actions,
  rate,
}: {
  work: readonly Work[];
  actions: readonly Action[];
  /** Requests a second; null if it is not known. */
  rate: number | null;
}) => html`
  <section aria-labelledby="doing">
    <h2 id="doing">What is being done</h2>
    ${work.length === 0 && actions.length === 0 && html`<p>Nothing: no backfill and no audit is at work.</p>`}
    <ul>${work.map((one) => html`<li key=${`${one.kind} ${one.partnerAccount}`}><${Progress} work=${one} rate=${rate} /></li>`)}</ul>
    <ul class="actions">${actions.map(
      ({ id, at, who, command, state, says }) => html`<li key=${id}>
        <time datetime=${at}>${time(at)}</time> ${printable(who)}: <code>${printable(command)}</code> <strong>${stateText[state]}</strong>
        ${says && html`<p class="reason">${readable(says)}</p>`}
      </li>`,
    )}</ul>
  </section>
`;

const stateText: Readonly<Record<Action['state'], string>> = {
  running: 'at work',
  done: 'done',
  left: 'done, but something needs attention',
  failed: 'failed',
};

function Progress({
  work: { kind, partnerAccount, state, listed, total },
  rate,
}: {
  work: Work;
  rate: number | null;
}) {
  const rest = total === null || rate === null ? '' : `, about ${duration((total - listed) / rate)} left`;
  return html`
    <span>${kind} of ${partnerAccount}${state === 'paused' ? ' (stopped; it goes on from here)' : ''}: ${count(listed)}${
      total === null ? '' : ` of ${count(total)}`
    } adverts${rest}</span>
    <progress aria-label=${`${kind} of ${partnerAccount}`} max=${total ?? undefined} value=${total === null ? undefined : listed}></progress>
  `;
}

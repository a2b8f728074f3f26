/** The page: everything on it follows from what the server pushes. */
import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Received } from '../snapshot.ts';
import { Accounts } from './accounts.ts';
import { BreakIt } from './break-it.ts';
import { DeadLetters } from './dead-letters.ts';
import { Dialog, type Question } from './dialog.ts';
import { Events } from './events.ts';
import { Doing, Findings, Flow, Header, Service, Surroundings } from './overview.ts';
import { Plots } from './plots.ts';
import { listen } from './server.ts';
import { verdictOf } from './verdict.ts';

function Page() {
  const [received, setReceived] = useState<Received>({ events: [], isCutOff: false });
  const [question, setQuestion] = useState<Question>();
  const [, setNow] = useState(0);
  useEffect(() => listen(setReceived), []);
  // What is left of a time is shown anew every second.
  useEffect(() => void setInterval(() => setNow(Date.now()), 1_000), []);
  const { snapshot, plots, events, isCutOff } = received;
  const verdict = verdictOf(received, Date.now());
  useEffect(() => {
    document.title = `${verdict.title} · Advert Bridge`;
  }, [verdict.title]);
  const facts = snapshot?.facts ?? null;
  return html`
    <${Header} ...${{ verdict, snapshot, ask: setQuestion }} />
    <main class=${isCutOff ? 'stale' : ''}>
      ${
        snapshot &&
        facts &&
        html`
          <${BreakIt} breaks=${snapshot.breaks} accounts=${facts.partnerAccounts} />
          <${Findings} findings=${snapshot.findings} />
          <${Flow} facts=${facts} kind=${snapshot.bridge.kind} />
          <${Plots} plots=${plots} />
          <${Accounts} snapshot=${snapshot} ask=${setQuestion} />
          <div class="columns">
            <${Events} events=${events} snapshot=${snapshot} />
            <div>
              <${Service} answers=${facts.answers} />
              <${Doing} work=${snapshot.work} actions=${snapshot.actions} rate=${snapshot.bridge.requestsPerSecond} />
            </div>
          </div>
          <${DeadLetters} snapshot=${snapshot} ask=${setQuestion} />
          <${Surroundings} facts=${facts} />
        `
      }
    </main>
    ${question && html`<${Dialog} key=${question.heading} question=${question} onClose=${() => setQuestion(undefined)} />`}
  `;
}

render(html`<${Page} />`, document.body);

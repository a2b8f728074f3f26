import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { printableLine as printable } from '../../../shared/domain/text.ts';
import { count } from '../../operations/figures.ts';
import type { ShownDeadLetters, Snapshot } from '../snapshot.ts';
import { type Ask, Asking } from './accounts.ts';
import { commandLine, counted, time } from './format.ts';
import { readDeadLetters } from './server.ts';
import { Wide } from './wide.ts';

/** The dead letters: found by a filter, chosen one by one or all that match, redriven or dropped. */
export function DeadLetters({ snapshot, ask }: { snapshot: Snapshot; ask: Ask }) {
  const [filter, setFilter] = useState('');
  const [found, setFound] = useState<ShownDeadLetters>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const total = snapshot.facts?.queue.deadLetters ?? 0;
  const { isReadOnly } = snapshot.bridge;

  useEffect(() => {
    let isCurrent = true;
    const looked = readDeadLetters(filter).then((answer) => {
      if (!isCurrent) return;
      const known = new Set(answer.ids);
      setFound(answer);
      setChosen((before) => new Set([...before].filter((id) => known.has(id))));
    });
    void looked.catch(() => undefined);
    return () => {
      isCurrent = false;
    };
  }, [filter, total]);

  const ids = [...chosen];
  const choose = (id: string) =>
    setChosen(new Set(chosen.has(id) ? ids.filter((one) => one !== id) : [...ids, id]));
  const areAllChosen = found !== undefined && found.matching > 0 && chosen.size === found.matching;
  const isEach = ids.length === 1 ? 'its advert' : 'each of their adverts';
  const questions = [
    [
      'Redrive',
      'redrive',
      `Has the drain put the messages back into the queue, so ${isEach} is fetched again. Do this when the cause is fixed.`,
    ],
    ['Drop', 'drop', `Removes them for good: ${isEach} gets no event until it changes again.`],
  ] as const;
  return html`
    <section aria-labelledby="dead-letters">
      <h2 id="dead-letters">Dead letters</h2>
      ${total === 0 && html`<p>None: the bridge has given up on no advert.</p>`}
      ${
        total > 0 &&
        html`
          <p>The bridge gave up on ${counted(total, 'change')}. When the cause is fixed, redrive them.</p>
          <div class="inline">
            <label>Filter
              <input type="search" value=${filter} onInput=${(event: InputEvent) => setFilter((event.target as HTMLInputElement).value)} />
            </label>
            ${
              !isReadOnly &&
              html`
                <label><input type="checkbox" checked=${areAllChosen} onChange=${() => setChosen(new Set(areAllChosen ? [] : found?.ids))} />
                  Select all matching (${count(found?.matching ?? 0)})</label>
                ${questions.map(
                  ([label, action, says]) =>
                    html`<${Asking} of="" ...${{ snapshot, ask }} isOff=${ids.length === 0} question=${{
                      label,
                      kind: action,
                      heading: `${label} ${counted(ids.length, 'dead letter')}?`,
                      says,
                      button: `${label} ${counted(ids.length, 'dead letter')}`,
                      command: commandLine(
                        snapshot.bridge,
                        `dead-letters ${action} ${ids.slice(0, 2).join(' ')}${ids.length > 2 ? ' …' : ''}`,
                      ),
                      action: () => ({ action, ids }),
                    }} />`,
                )}
                <span aria-live="polite">${counted(ids.length, 'dead letter')} selected</span>
              `
            }
          </div>
          <${Wide} label="dead letters">
        <table aria-labelledby="dead-letters">
              <thead><tr>
                ${!isReadOnly && html`<td></td>`}<th scope="col">Account</th><th scope="col">Advert</th><th scope="col">Fault</th>
                <th scope="col">Reason</th><th scope="col">Since</th>
              </tr></thead>
              <tbody>${found?.deadLetters.map(
                ({ id, partnerAccount, advertId, fault, reason, at }) => html`<tr key=${id}>
                  ${
                    !isReadOnly &&
                    html`<td><input type="checkbox" aria-label=${`Select advert ${printable(advertId ?? '')}`} checked=${chosen.has(id)} onChange=${() => choose(id)} /></td>`
                  }
                  <td>${partnerAccount}</td><td>${printable(advertId ?? '')}</td><td>${fault}</td><td class="reason">${printable(reason)}</td>
                  <td><time datetime=${at}>${time(at)}</time></td>
                </tr>`,
              )}</tbody>
            </table>
          <//>
          ${(found?.matching ?? 0) > (found?.deadLetters.length ?? 0) && html`<p>The first ${count(found?.deadLetters.length ?? 0)} of ${count(found?.matching ?? 0)} are listed.</p>`}
        `
      }
    </section>
  `;
}

import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { Break, Facts } from '../snapshot.ts';
import { time } from './format.ts';
import { act } from './server.ts';

/** Only the demo has this: what can go wrong, and what the bridge does about it. */
export function BreakIt({
  breaks,
  accounts,
}: {
  breaks: readonly Break[];
  accounts: Facts['partnerAccounts'];
}) {
  const [refused, setRefused] = useState('');
  const [pressed, setPressed] = useState({ what: '', resets: new Map<string, string | null>() });
  if (breaks.length === 0) return null;
  const press = (what: string) => {
    setPressed({ what, resets: new Map(accounts.map((one) => [one.name, one.lastCursorReset])) });
    act({ action: 'break', what }).then(
      () => setRefused(''),
      (error: Error) => setRefused(error.message),
    );
  };
  const explained = breaks.find(({ name }) => name === pressed.what);
  return html`<section aria-labelledby="break" class="break">
    <h2 id="break">Break it</h2>
    <p>This is the demo, so nothing is at stake. Press a button and watch what the bridge does; press it again to end it.</p>
    <div class="buttons">${breaks.map(
      ({ name, isOn, says }) =>
        html`<button key=${name} title=${says} aria-pressed=${isOn} onClick=${() => press(name)}>${name}${isOn && ' (on)'}</button>`,
    )}</div>
    <p aria-live="polite">${explained?.says}${accounts.map(
      ({ name, lastCursorReset }) =>
        pressed.what !== '' &&
        lastCursorReset !== null &&
        lastCursorReset !== pressed.resets.get(name) &&
        ` The cursor of ${name} was rejected at ${time(lastCursorReset)}.`,
    )}</p>
    <p role="alert">${refused && `Not done: ${refused}`}</p>
  </section>`;
}

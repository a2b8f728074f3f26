import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { act } from './server.ts';

/** What the dialog asks before something is done. */
export interface Question {
  readonly heading: string;
  readonly says: string;
  /** The text of the button that does it. */
  readonly button: string;
  /** A value that is asked for. */
  readonly field?: {
    readonly label: string;
    readonly name: string;
    readonly type: 'text' | 'datetime-local';
  };
  /** The same on the command line. */
  readonly command: string;
  /** The request to the server, with the field's value. */
  readonly action: (value: string) => object;
}

/** Asks, and does it on its button. */
export function Dialog({ question, onClose }: { question: Question; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [value, setValue] = useState('');
  const [refused, setRefused] = useState('');
  const { heading, says, button, field, command, action } = question;
  useEffect(() => dialog.current?.showModal(), []);

  async function perform(event: Event): Promise<void> {
    event.preventDefault();
    try {
      await act(action(value));
      onClose();
    } catch (error) {
      setRefused(error instanceof Error ? error.message : String(error));
    }
  }

  return html`
    <dialog ref=${dialog} aria-labelledby="question" onClose=${onClose}>
      <form onSubmit=${perform}>
        <h2 id="question">${heading}</h2>
        <p>${says}</p>
        ${
          field &&
          html`<label>${field.label}
            <input type=${field.type} name=${field.name} maxlength="200" value=${value} required=${field.type !== 'text'}
              step="1" onInput=${(event: InputEvent) => setValue((event.target as HTMLInputElement).value)} />
          </label>`
        }
        <p class="command">The same on the command line: <code>${command}</code></p>
        <p role="alert">${refused && `Not done: ${refused}`}</p>
        <div class="buttons">
          <button type="button" onClick=${onClose}>Cancel</button>
          <button class="primary">${button}</button>
        </div>
      </form>
    </dialog>
  `;
}

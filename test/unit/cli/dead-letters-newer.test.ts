import { expect, it } from 'vitest';
import { lettersText, letterText, redrivenLines } from '../../../cli/commands/dead-letters/text.ts';
import { storedOf } from '../../../shared/aws/sqs/stored-letter.ts';
import { changedAdvert, deadLetter } from '../../helpers/records.ts';

const target = { kind: 'stack', stack: 'AdvertBridge' } as const;
const held = (body: object) => ({
  ...{
    id: '3f0a6c1e-9d55-4f4e-8c1c-0f2d7a1b2c3d',
    receiptHandle: 'r',
    group: 'g',
    body: JSON.stringify(body),
  },
  ...{ sentAtMs: 0, receives: 1 },
});

it.each([
  ['a letter', { ...deadLetter(), form: 2 }],
  ['a message that SQS moved', { ...changedAdvert(), form: 2 }],
])('%s of a newer bridge is not to be dropped: its own version can still redrive it', (_, body) => {
  const { held: of, letter } = storedOf(held(body));
  const stored = { id: of.id, letter };

  expect(letterText(stored, target)).not.toContain('drop');
  expect(lettersText({ letters: [stored], unseen: 0 }, target)).not.toContain('drop');
  const outcome = { done: [], nothingToSend: [of.id], refused: [], unseen: 0 };
  expect(redrivenLines(outcome, {}, []).join('\n')).not.toMatch(/drop them/i);
});

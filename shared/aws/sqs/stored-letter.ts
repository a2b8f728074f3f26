import { checkedJson, isOfNewerForm, ShapeError } from '../../contract/checks.ts';
import { changedAdvert, type DeadLetter, deadLetter } from '../../contract/messages.ts';
import { toInstant } from '../../domain/clock.ts';
import { objectKeyOf } from '../../domain/history-key.ts';
import { writtenByNewer } from '../../ports/dead-letters.ts';
import type { HeldLetter } from './scan-dead-letters.ts';

export interface Stored {
  readonly held: HeldLetter;
  readonly letter: DeadLetter;
  /** True if fan-out or the drain wrote the dead letter; false if SQS moved the message, which the books do not count. */
  readonly isCounted: boolean;
}

/** The fault of a message that SQS's own redrive policy moved here after a thousand deliveries. */
const movedBySqs = 'moved-by-sqs';

/** Reads a message of the dead-letter queue as a dead letter, whether the bridge or SQS put it there. */
export function storedOf(held: HeldLetter): Stored {
  const letter = parsed(deadLetter, held.body);
  if (letter && letter !== 'newer') return { held, letter, isCounted: true };
  const found = parsed(changedAdvert, held.body);
  const isNewer = letter === 'newer' || found === 'newer';
  const message = found === 'newer' ? null : (found ?? null);
  const why = isNewer
    ? `${writtenByNewer}: leave it here, and use the command line of that version`
    : message
      ? 'SQS moved it here after a thousand deliveries: fan-out could not even write down what it owes. Its log says why'
      : 'neither a letter nor a message of this bridge: somebody else put it here';
  return {
    held,
    letter: {
      partnerAccount: message?.partnerAccount ?? null,
      advertId: message && objectKeyOf(message),
      fault: message ? movedBySqs : 'malformed-message',
      reason: why,
      at: toInstant(held.sentAtMs),
      receives: held.receives,
      message,
    },
    isCounted: message === null,
  };
}

function parsed<S extends typeof deadLetter | typeof changedAdvert>(schema: S, body: string) {
  try {
    return checkedJson(schema, body, 'dead letter');
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    return isOfNewerForm(error) ? 'newer' : undefined;
  }
}

import type { Writable } from 'node:stream';
import type { EventPublisher } from '../../shared/domain/ports.ts';

/** Standard output is closed: nobody takes the events any more. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosedError';
  readonly code = 'output-closed';
}

/**
 * One event a line. Accepted when the stream has taken the line; lines of one moment go in one write.
 *
 * @param onClosed called once when the reader is gone
 */
export function createLinePublisher(output: Writable, onClosed: () => void): EventPublisher {
  let lines: string[] = [];
  let flushed: Promise<void> | undefined;
  let closed: OutputClosedError | undefined;

  output.on('error', (cause) => {
    closed ??= new OutputClosedError('standard output is closed', { cause });
    onClosed();
  });

  const write = (text: string) =>
    new Promise<void>((resolve, reject) => {
      output.write(text, (cause) => {
        if (cause) reject(closed ?? new OutputClosedError('standard output is closed', { cause }));
        else resolve();
      });
    });

  return {
    async publish(envelope) {
      if (closed) throw closed;
      lines.push(envelope);
      flushed ??= Promise.resolve().then(() => {
        const text = `${lines.join('\n')}\n`;
        lines = [];
        flushed = undefined;
        return write(text);
      });
      return flushed;
    },
  };
}

const webhookTimeoutMs = 10_000;

/**
 * One POST an event, the whole envelope as its body. Accepted with any 2xx; else the fan-out tries again, at its pace.
 *
 * @param url https, or http on loopback
 */
export function createWebhookPublisher(url: string): EventPublisher {
  return {
    async publish(envelope) {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: envelope,
        redirect: 'error',
        signal: AbortSignal.timeout(webhookTimeoutMs),
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`the webhook answered ${answer.status}`);
    },
  };
}

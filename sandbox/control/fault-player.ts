import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { headersOf } from '../http/wire.ts';
import type { Answer } from '../state/answer.ts';
import type { Clock } from '../state/clock.ts';
import type { Fault } from '../state/faults.ts';

const defaultHugeBytes = 64 * 1024 * 1024;

/** The answer that a fault sends instead of the real one; undefined for faults that send no complete answer. */
export function standInFor({ kind, status = 200, body, headers }: Fault): Answer | undefined {
  switch (kind) {
    case 'status': {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return { status, body: text ?? '', headers };
    }
    case 'html': {
      const page = '<html><body><h1>We will be back soon</h1></body></html>';
      return { status, body: page, headers: { 'content-type': 'text/html' } };
    }
    case 'invalid-json':
      return { status, body: '{"data":[' };
    case 'wrong-shape':
      return { status, body: JSON.stringify(body ?? { data: { unexpected: true } }) };
    default:
      return undefined;
  }
}

/** Whether the request is processed although its answer does not arrive completely or on time. */
export function isCarriedOut({ kind }: Fault): boolean {
  return kind === 'lost-answer' || kind === 'cut-off' || kind === 'delay';
}

/**
 * Plays a fault that sends no complete answer.
 * @param answer the answer to a request that was processed
 * @returns false for a fault that sends a complete answer
 */
export function playOnWire(
  fault: Fault,
  response: ServerResponse,
  clock: Clock,
  answer: Answer = { status: 200, body: '' },
): boolean {
  switch (fault.kind) {
    case 'reset':
    case 'lost-answer':
      response.socket?.resetAndDestroy();
      return true;
    case 'cut-off': {
      const body = Buffer.from(answer.body);
      response.writeHead(answer.status, headersOf(clock, answer, body.length));
      // Destroyed in the callback: otherwise this half of the answer would be lost together with the connection.
      response.write(body.subarray(0, body.length >> 1), () => response.destroy());
      return true;
    }
    case 'huge': {
      const bytes = fault.bytes ?? defaultHugeBytes;
      response.writeHead(answer.status, headersOf(clock, answer, bytes));
      Readable.from(hugeBody(bytes)).pipe(response);
      return true;
    }
    case 'hang': // The connection stays open and silent until either side closes it.
      return true;
    default:
      return false;
  }
}

/** Valid JSON of this many bytes, in pieces. */
function* hugeBody(bytes: number): Generator<string> {
  const [opening, closing] = ['{"data":"', '"}'];
  const chunk = 'a'.repeat(64 * 1024);
  yield opening;
  for (let left = bytes - opening.length - closing.length; left > 0; left -= chunk.length)
    yield chunk.slice(0, left);
  yield closing;
}

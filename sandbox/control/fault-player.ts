import type { ServerResponse } from 'node:http';
import { headersOf } from '../http/wire.ts';
import type { Answer } from '../state/answer.ts';
import type { Clock } from '../state/clock.ts';
import type { Fault } from '../state/faults.ts';

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
    case 'hang': // The connection stays open and silent until either side closes it.
      return true;
    default:
      return false;
  }
}

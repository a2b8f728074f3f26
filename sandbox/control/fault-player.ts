import type { ServerResponse } from 'node:http';
import type { AnswerWriter } from '../http/wire.ts';
import type { Answer } from '../state/answer.ts';
import type { FaultAction } from '../state/faults.ts';

const defaultHugeBytes = 64 * 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, 'a');

/** The answer that a fault sends instead of the real one; undefined for faults that send no complete answer. */
export function standInFor(fault: FaultAction): Answer | undefined {
  switch (fault.kind) {
    case 'status': {
      const { status, body = '', headers } = fault;
      const answer = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
      return headers === undefined ? answer : { ...answer, headers: lowerCased(headers) };
    }
    case 'html':
      return {
        status: fault.status ?? 200,
        body: '<html><body><h1>We will be back soon</h1></body></html>',
        headers: { 'content-type': 'text/html' },
      };
    case 'invalid-json':
      return { status: 200, body: '{"data":[' };
    case 'wrong-shape':
      return { status: 200, body: JSON.stringify(fault.body ?? { data: { unexpected: true } }) };
    default:
      return undefined;
  }
}

/** Whether the request is processed although its answer does not arrive completely or on time. */
export function isCarriedOut(fault: FaultAction): boolean {
  return fault.kind === 'lost-answer' || fault.kind === 'cut-off' || fault.kind === 'delay';
}

/** Plays a fault that sends no complete answer. @param answer answer to a request that was processed */
export function playOnWire(
  fault: FaultAction,
  response: ServerResponse,
  writer: AnswerWriter,
  answer: Answer | undefined,
): void {
  switch (fault.kind) {
    case 'reset':
    case 'lost-answer':
      response.socket?.resetAndDestroy();
      return;
    case 'cut-off':
      if (answer !== undefined) sendHalf(response, writer, answer);
      return;
    case 'huge':
      sendHuge(response, writer, fault.bytes ?? defaultHugeBytes);
      return;
    default: // hang: the connection stays open and silent until either side closes it
  }
}

function sendHalf(response: ServerResponse, writer: AnswerWriter, answer: Answer): void {
  const body = Buffer.from(answer.body);
  response.writeHead(answer.status, writer.head(answer, body.length));
  // Destroyed in the callback: otherwise this half of the answer would be lost together with the connection.
  response.write(body.subarray(0, body.length >> 1), () => response.destroy());
}

function sendHuge(response: ServerResponse, writer: AnswerWriter, bytes: number): void {
  const opening = '{"data":"';
  const closing = '"}';
  let left = Math.max(0, bytes - opening.length - closing.length);
  response.writeHead(200, writer.head({ status: 200, body: '' }, opening.length + left + closing.length));
  response.write(opening);
  const pump = (): void => {
    while (left > 0) {
      const piece = left < chunk.length ? chunk.subarray(0, left) : chunk;
      left -= piece.length;
      if (!response.write(piece)) {
        response.once('drain', pump);
        return;
      }
    }
    response.end(closing);
  };
  pump();
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from '../state/answer.ts';
import type { Clock } from '../state/clock.ts';

const maxBodyBytes = 1_000_000;

/** The headers of an answer, with a Date from the service's own clock. */
export function headersOf(
  clock: Clock,
  { headers }: Answer,
  bodyBytes: number,
): Record<string, string | number> {
  const date = new Date(clock.now()).toUTCString();
  return { date, 'content-type': 'application/json', 'content-length': bodyBytes, ...headers };
}

export function send(response: ServerResponse, clock: Clock, answer: Answer): void {
  response.writeHead(answer.status, headersOf(clock, answer, Buffer.byteLength(answer.body)));
  response.end(answer.body);
}

/** @returns undefined for a body that is longer than the service reads (1 MB). @throws when it is incomplete */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBodyBytes) chunks.push(chunk);
  }
  return bytes > maxBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}

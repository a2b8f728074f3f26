import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from '../state/answer.ts';
import type { Clock } from '../state/clock.ts';

const maxBodyBytes = 1_000_000;

/** Writes answers with a Date header from the service's own clock. */
export interface AnswerWriter {
  head(answer: Answer, bodyBytes: number): Record<string, string | number>;
  send(response: ServerResponse, answer: Answer): void;
}

export function createAnswerWriter(clock: Clock): AnswerWriter {
  let second = Number.NaN;
  let date = '';
  const dateHeader = (): string => {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) {
      second = now;
      date = new Date(now * 1000).toUTCString();
    }
    return date;
  };
  const head = (answer: Answer, bodyBytes: number): Record<string, string | number> => ({
    date: dateHeader(),
    'content-type': 'application/json',
    'content-length': bodyBytes,
    ...answer.headers,
  });
  return {
    head,
    send: (response, answer) => {
      response.writeHead(answer.status, head(answer, Buffer.byteLength(answer.body)));
      response.end(answer.body);
    },
  };
}

/** @param done receives the body, or undefined when it is longer than the service reads (1 MB) or incomplete */
export function readBody(request: IncomingMessage, done: (body: string | undefined) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let finished = false;
  const finish = (body: string | undefined): void => {
    if (finished) return;
    finished = true;
    done(body);
  };
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBodyBytes) chunks.push(chunk);
  });
  request.on('end', () => finish(bytes > maxBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8')));
  request.on('error', () => finish(undefined));
}

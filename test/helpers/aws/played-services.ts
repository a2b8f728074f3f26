import { randomUUID } from 'node:crypto';
import { createSecrets } from './fake-secrets-manager.ts';
import type { Answer } from './recording-proxy.ts';

const json = (body: unknown, status = 200): Answer => ({ status, body: JSON.stringify(body) });

/** Plays Secrets Manager, EventBridge and the Lambda that refreshes tokens, as far as the functions use them. */
export function playServices(invokeRefreshToken: (event: unknown) => Promise<unknown>) {
  const { secrets, set, calls } = createSecrets();
  let published = 0;
  return {
    setSecret: set,
    forgetSecrets: () => secrets.clear(),
    /** Events accepted so far. */
    published: () => published,
    async play(operation: string, body: string): Promise<Answer> {
      const input = JSON.parse(body);
      if (operation === 'lambda Invoke') return json(await invokeRefreshToken(input));
      if (operation === 'events PutEvents') {
        const { Entries } = input as { Entries: unknown[] };
        published += Entries.length;
        return json({ FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) });
      }
      const call = calls[operation.replace('secretsmanager ', '')];
      if (!call) throw new Error(`${operation} is not played here`);
      try {
        return json(call(input));
      } catch (error) {
        return json({ __type: (error as Error).name }, 400);
      }
    },
  };
}

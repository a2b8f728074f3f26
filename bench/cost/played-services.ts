import { randomUUID } from 'node:crypto';
import type { Answer } from './wire.ts';

const json = (body: unknown, status = 200): Answer => ({ status, body: JSON.stringify(body) });
const missing = json({ __type: 'ResourceNotFoundException' }, 400);

/** Plays Secrets Manager, EventBridge and the Lambda that refreshes tokens, as far as the functions use them. */
export function playServices(invokeRefreshToken: (event: unknown) => Promise<unknown>) {
  const secrets = new Map<string, { readonly SecretString: string; readonly VersionId: string }>();
  let published = 0;

  return {
    secrets,
    /** Events accepted so far. */
    published: () => published,
    async play(operation: string, body: string): Promise<Answer> {
      const input = JSON.parse(body);
      switch (operation) {
        case 'secretsmanager GetSecretValue': {
          const found = secrets.get(input.SecretId);
          return found ? json(found) : missing;
        }
        case 'secretsmanager PutSecretValue':
        case 'secretsmanager CreateSecret': {
          const name = input.SecretId ?? input.Name;
          if (operation.endsWith('PutSecretValue') && !secrets.has(name)) return missing;
          const VersionId = input.ClientRequestToken ?? randomUUID();
          secrets.set(name, { SecretString: input.SecretString, VersionId });
          return json({ VersionId });
        }
        case 'events PutEvents': {
          const { Entries } = input as { Entries: unknown[] };
          published += Entries.length;
          return json({ FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) });
        }
        case 'lambda Invoke':
          return json(await invokeRefreshToken(input));
        default:
          throw new Error(`${operation} is not played here`);
      }
    },
  };
}

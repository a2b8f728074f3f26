import { randomUUID } from 'node:crypto';
import type { Answer } from './recording-proxy.ts';

const json = (body: unknown, status = 200): Answer => ({ status, body: JSON.stringify(body) });
const missing = json({ __type: 'ResourceNotFoundException' }, 400);

interface Version {
  readonly SecretString: string;
  readonly VersionId: string;
}

/** Plays Secrets Manager, EventBridge and the Lambda that refreshes tokens, as far as the functions use them. */
export function playServices(invokeRefreshToken: (event: unknown) => Promise<unknown>) {
  /** Undefined: made without a value. */
  const secrets = new Map<string, Version | undefined>();
  const versions = new Map<string, Version>();
  /** Waiting for their deletion. */
  const removed = new Set<string>();
  let published = 0;

  return {
    secrets,
    forgetSecrets(): void {
      secrets.clear();
      versions.clear();
      removed.clear();
    },
    /** Events accepted so far. */
    published: () => published,
    async play(operation: string, body: string): Promise<Answer> {
      const input = JSON.parse(body);
      switch (operation) {
        case 'secretsmanager GetSecretValue': {
          const { SecretId, VersionId } = input;
          const found = VersionId ? versions.get(`${SecretId} ${VersionId}`) : secrets.get(SecretId);
          return found && !removed.has(input.SecretId) ? json(found) : missing;
        }
        case 'secretsmanager DeleteSecret':
          removed.add(input.SecretId);
          return json({});
        case 'secretsmanager RestoreSecret':
          removed.delete(input.SecretId);
          return json({});
        case 'secretsmanager PutResourcePolicy':
          if (removed.has(input.SecretId)) return json({ __type: 'InvalidRequestException' }, 400);
          return secrets.has(input.SecretId) ? json({}) : missing;
        case 'secretsmanager CreateSecret':
          secrets.set(input.Name, undefined);
          return json({});
        case 'secretsmanager PutSecretValue': {
          const name = input.SecretId;
          if (!secrets.has(name)) return missing;
          const VersionId = input.ClientRequestToken ?? randomUUID();
          const version = { SecretString: input.SecretString, VersionId };
          secrets.set(name, version);
          versions.set(`${name} ${VersionId}`, version);
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

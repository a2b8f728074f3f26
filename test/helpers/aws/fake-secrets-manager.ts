import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  InvalidRequestException,
  PutResourcePolicyCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  RestoreSecretCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { mockClient } from './mock-client.ts';

export const aReadersPolicy = '{"Version":"2012-10-17","Statement":[]}';

interface Version {
  readonly version: string;
  readonly text: string;
}

interface Stored {
  /** Absent: made without a value. */
  current?: Version;
  readonly versions: Version[];
  scheduledForDeletion: boolean;
  policy?: string;
}

/** Plays Secrets Manager as its documentation has it: a secret that waits for deletion blocks its name. */
export function fakeSecretsManager() {
  const mock = mockClient(SecretsManagerClient);
  let secrets = new Map<string, Stored>();

  const existing = (name: string | undefined): Stored => {
    const found = secrets.get(name ?? '');
    if (!found) throw new ResourceNotFoundException({ message: 'no such secret', $metadata: {} });
    return found;
  };
  const usable = (name: string | undefined): Stored => {
    const found = existing(name);
    if (found.scheduledForDeletion) {
      throw new InvalidRequestException({ message: 'marked for deletion', $metadata: {} });
    }
    return found;
  };

  function start(): void {
    secrets = new Map();
    mock.reset();
    mock.on(GetSecretValueCommand).callsFake(async ({ SecretId, VersionId }) => {
      const { current: latest, versions } = usable(SecretId);
      const current = VersionId ? versions.find(({ version }) => version === VersionId) : latest;
      if (!current) throw new ResourceNotFoundException({ message: 'no value', $metadata: {} });
      return { SecretString: current.text, VersionId: current.version };
    });
    mock.on(PutSecretValueCommand).callsFake(async ({ SecretId, SecretString, ClientRequestToken }) => {
      const stored = usable(SecretId);
      stored.current = { version: ClientRequestToken ?? randomUUID(), text: SecretString };
      stored.versions.push(stored.current);
      return {};
    });
    mock.on(CreateSecretCommand).callsFake(async ({ Name, SecretString, ClientRequestToken }) => {
      if (secrets.has(Name)) throw new ResourceExistsException({ message: 'exists', $metadata: {} });
      secrets.set(Name, {
        ...(SecretString === undefined
          ? {}
          : { current: { version: ClientRequestToken, text: SecretString } }),
        versions: [],
        scheduledForDeletion: false,
      });
      return {};
    });
    mock.on(PutResourcePolicyCommand).callsFake(async ({ SecretId, ResourcePolicy }) => {
      usable(SecretId).policy = ResourcePolicy;
      return {};
    });
    mock.on(DeleteSecretCommand).callsFake(async ({ SecretId, ForceDeleteWithoutRecovery }) => {
      const found = usable(SecretId);
      if (ForceDeleteWithoutRecovery) secrets.delete(SecretId);
      else found.scheduledForDeletion = true;
      return {};
    });
    mock.on(RestoreSecretCommand).callsFake(async ({ SecretId }) => {
      existing(SecretId).scheduledForDeletion = false;
      return {};
    });
  }

  return {
    mock,
    start,
    policyOf: (name: string) => secrets.get(name)?.policy,
    set(name: string, text: string | undefined, version: string = randomUUID()): void {
      secrets.set(name, {
        scheduledForDeletion: false,
        ...(text === undefined
          ? { versions: [] }
          : { current: { version, text }, versions: [{ version, text }] }),
      });
    },
    /** Every secret that has a value, by its name. */
    values: () =>
      Object.fromEntries(
        [...secrets].flatMap(([name, { current, scheduledForDeletion }]) =>
          current && !scheduledForDeletion ? [[name, current] as const] : [],
        ),
      ),
  };
}

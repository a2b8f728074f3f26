import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  DescribeSecretCommand,
  GetSecretValueCommand,
  InvalidRequestException,
  PutResourcePolicyCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  RestoreSecretCommand,
  SecretsManagerClient,
  type Tag,
} from '@aws-sdk/client-secrets-manager';
import { mockClient } from './mock-client.ts';

export const aReadersPolicy = '{"Version":"2012-10-17","Statement":[]}';

interface Stored {
  /** By their ID, the current one last; none: made without a value. */
  readonly versions: Map<string, string>;
  scheduledForDeletion: boolean;
  policy?: string;
  tags?: readonly Tag[];
}

/** As the stack has them, and CloudFormation's own, which nobody else may set. */
const stackTags: readonly Tag[] = [
  { Key: 'application', Value: 'advert-bridge' },
  { Key: 'aws:cloudformation:stack-name', Value: 'AdvertBridge' },
];

// biome-ignore lint/suspicious/noExplicitAny: of any call.
type Input = Readonly<Record<string, any>>;

/** Plays Secrets Manager as its documentation has it: a secret that waits for deletion blocks its name. */
export function createSecrets() {
  const secrets = new Map<string, Stored>();
  const existing = ({ SecretId = '' }: Input): Stored => {
    const found = secrets.get(SecretId);
    if (!found) throw new ResourceNotFoundException({ message: 'no such secret', $metadata: {} });
    return found;
  };
  const usable = (input: Input): Stored => {
    const found = existing(input);
    if (!found.scheduledForDeletion) return found;
    throw new InvalidRequestException({ message: 'marked for deletion', $metadata: {} });
  };
  function set(name: string, text?: string, version: string = randomUUID()): void {
    const versions = new Map(text === undefined ? [] : [[version, text]]);
    secrets.set(name, { versions, scheduledForDeletion: false });
  }
  const calls: Readonly<Record<string, (input: Input) => object>> = {
    GetSecretValue(input) {
      const { versions } = usable(input);
      const VersionId = input.VersionId ?? [...versions.keys()].at(-1) ?? '';
      const SecretString = versions.get(VersionId);
      if (SecretString !== undefined) return { SecretString, VersionId };
      throw new ResourceNotFoundException({ message: 'no value', $metadata: {} });
    },
    PutSecretValue(input) {
      const VersionId = input.ClientRequestToken ?? randomUUID();
      usable(input).versions.set(VersionId, input.SecretString ?? '');
      return { VersionId };
    },
    CreateSecret({ Name = '', SecretString, ClientRequestToken, Tags }) {
      if (secrets.has(Name)) throw new ResourceExistsException({ message: 'exists', $metadata: {} });
      set(Name, SecretString, ClientRequestToken);
      existing({ SecretId: Name }).tags = (Tags ?? []) as readonly Tag[];
      return {};
    },
    DescribeSecret: (input) => ({ Tags: existing(input).tags ?? stackTags }),
    PutResourcePolicy(input) {
      usable(input).policy = input.ResourcePolicy ?? '';
      return {};
    },
    DeleteSecret(input) {
      const found = usable(input);
      if (input.ForceDeleteWithoutRecovery) secrets.delete(input.SecretId ?? '');
      else found.scheduledForDeletion = true;
      return {};
    },
    RestoreSecret(input) {
      existing(input).scheduledForDeletion = false;
      return {};
    },
  };
  return { secrets, set, calls };
}

const commands = {
  ...{ GetSecretValueCommand, PutSecretValueCommand, CreateSecretCommand },
  ...{ PutResourcePolicyCommand, DeleteSecretCommand, RestoreSecretCommand, DescribeSecretCommand },
};

/** The same behind a mocked client. */
export function fakeSecretsManager() {
  const mock = mockClient(SecretsManagerClient);
  const { secrets, set, calls } = createSecrets();
  return {
    mock,
    set,
    start(): void {
      secrets.clear();
      mock.reset();
      for (const [name, command] of Object.entries(commands)) {
        const call = calls[name.replace('Command', '')];
        mock.on(command as typeof GetSecretValueCommand).callsFake(async (input) => call?.(input));
      }
    },
    policyOf: (name: string) => secrets.get(name)?.policy,
    tagsOf: (name: string) => secrets.get(name)?.tags,
  };
}

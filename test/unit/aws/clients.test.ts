import { beforeEach, describe, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../../shared/aws/bundling/lambda-credentials.ts';
import {
  dynamoDbClient,
  eventBridgeClient,
  lambdaClient,
  secretsManagerClient,
  sqsClient,
} from '../../../shared/aws/clients.ts';

beforeEach(() => {
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'hush');
});

describe('the clients of AWS', () => {
  it.each([dynamoDbClient, sqsClient, eventBridgeClient, secretsManagerClient].map((make) => [make]))(
    'try four times, and none for long: %o',
    async (make) => {
      const { config } = make();
      expect(await config.maxAttempts()).toBe(4);
      await expect(limitsOf(config)).resolves.toEqual({
        connectionTimeout: 1_000,
        requestTimeout: 4_000,
        throwOnRequestTimeout: true,
      });
    },
  );

  it('ask a function once, and wait as long as it may run', async () => {
    const { config } = lambdaClient();
    expect(await config.maxAttempts()).toBe(1);
    await expect(limitsOf(config)).resolves.toEqual({
      connectionTimeout: 1_000,
      requestTimeout: 60_000,
      throwOnRequestTimeout: true,
    });
  });
});

describe('the credentials of a function', () => {
  it('are those in the environment, with their session where there is one', async () => {
    const provide = defaultProvider();
    vi.stubEnv('AWS_SESSION_TOKEN', undefined);
    expect(await provide()).toEqual({ accessKeyId: 'id', secretAccessKey: 'hush' });
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    expect(await provide()).toEqual({ accessKeyId: 'id', secretAccessKey: 'hush', sessionToken: 'session' });
  });

  it.each(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])('are none without %s', async (name) => {
    vi.stubEnv(name, undefined);
    await expect(defaultProvider()()).rejects.toThrow('no AWS credentials in the environment');
  });
});

/** The limits of one attempt, as the SDK resolves them. */
async function limitsOf({ requestHandler }: { readonly requestHandler: unknown }) {
  const handler = requestHandler as { configProvider?: Promise<object>; httpHandlerConfigs(): object };
  const { connectionTimeout, requestTimeout, throwOnRequestTimeout } = {
    ...handler.httpHandlerConfigs(),
    ...(await handler.configProvider),
  } as Record<string, unknown>;
  return { connectionTimeout, requestTimeout, throwOnRequestTimeout };
}

import { beforeEach, describe, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../../../shared/aws/bundling/lambda-credentials.ts';
import * as clients from '../../../../shared/aws/clients.ts';

const environment = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush' };

beforeEach(() => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
});

it.each(Object.entries(clients).map(([name, make]) => [name, make] as const))(
  '%s limits attempts and their time: Lambda is invoked once, for as long as it may run',
  async (name, make) => {
    const isLambda = name === 'lambdaClient';
    const { config } = make() as ReturnType<typeof clients.eventBridgeClient>;
    expect(await config.maxAttempts()).toBe(isLambda ? 1 : 4);
    // As the SDK resolves them.
    const handler = config.requestHandler as {
      configProvider?: Promise<object>;
      httpHandlerConfigs(): object;
    };
    expect({ ...handler.httpHandlerConfigs(), ...(await handler.configProvider) }).toMatchObject({
      connectionTimeout: 1_000,
      requestTimeout: isLambda ? 60_000 : 4_000,
      throwOnRequestTimeout: true,
    });
  },
);

describe('the credentials of a function', () => {
  it('are those in the environment, with their session if there is one', async () => {
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

import { beforeEach, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../../../shared/aws/bundling/lambda-credentials.ts';
import * as clients from '../../../../shared/aws/clients.ts';

const environment = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush' };

beforeEach(() => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
});

it.each(Object.entries(clients).map(([name, make]) => [name, make] as const))(
  '%s has few attempts in time, and Lambda is invoked once',
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

it('credentials of a function come from the environment, with the session', async () => {
  const provide = defaultProvider();
  vi.stubEnv('AWS_SESSION_TOKEN', undefined);
  expect(await provide()).toEqual({ accessKeyId: 'id', secretAccessKey: 'hush' });
  vi.stubEnv('AWS_SESSION_TOKEN', 'session');
  expect(await provide()).toEqual({ accessKeyId: 'id', secretAccessKey: 'hush', sessionToken: 'session' });
});

it.each(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])(
  'credentials of a function are missing without %s',
  async (name) => {
    vi.stubEnv(name, undefined);
    await expect(defaultProvider()()).rejects.toThrow('no AWS credentials in the environment');
  },
);

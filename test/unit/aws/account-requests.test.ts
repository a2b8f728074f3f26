import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAccountRequests } from '../../../shared/aws/account-requests.ts';
import { Secret } from '../../../shared/domain/secret.ts';

const lambda = mockClient(LambdaClient);
const requests = createAccountRequests({ client: new LambdaClient({}), functionName: 'refresh-token' });
const answers = (answer: unknown) =>
  lambda.on(InvokeCommand).resolves({ Payload: Buffer.from(JSON.stringify(answer)) as never });
const asked = () => JSON.parse(String(lambda.commandCalls(InvokeCommand)[0]?.args[0].input.Payload));

beforeEach(() => lambda.reset());

describe('connecting through the refresh-token function', () => {
  it('hands the secret over and gives the answer', async () => {
    answers({ kind: 'refused', fault: 'grant-rejected', reason: 'the code is dead' });
    const input = {
      partnerAccount: 'main',
      code: new Secret('one-time'),
      redirectUri: 'http://127.0.0.1:1/',
    };
    expect(await requests.connect(input)).toMatchObject({ kind: 'refused', fault: 'grant-rejected' });
    expect(asked()).toEqual({
      action: 'connect',
      partnerAccount: 'main',
      code: 'one-time',
      redirectUri: 'http://127.0.0.1:1/',
    });
  });

  it('fails without the payload when the function failed', async () => {
    lambda
      .on(InvokeCommand)
      .resolves({ FunctionError: 'Unhandled', Payload: Buffer.from('"hidden-one"') as never });
    const fault = await requests
      .connect({ partnerAccount: 'main', refreshToken: new Secret('x') })
      .catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: 'FunctionError', code: 'Unhandled' });
    expect(String(fault)).not.toContain('hidden-one');
  });

  it('disconnects, and forgets when asked to', async () => {
    answers({ kind: 'disconnected', known: false });
    expect(await requests.disconnect('main', { forget: false })).toBe(false);
    expect(asked()).toEqual({ action: 'disconnect', partnerAccount: 'main', forget: false });
  });
});

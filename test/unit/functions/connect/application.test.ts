import { describe, expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createWorld } from '../../../helpers/world.ts';

describe('checking the application', () => {
  it('asks for a token of the application itself, and tells the scope granted', async () => {
    const { connect, service, options } = await createWorld();
    service.grants.length = 0;
    service.state.tokens = () => ({ access_token: 'a', scope: ' write+v2  read' });

    expect(await connect.check(options())).toEqual({ scope: 'write v2 read' });

    expect(service.grants).toEqual([{ type: 'client_credentials', scope: 'v2 read write' }]);
    service.state.tokens = () => ({ access_token: 'a' });
    expect(await connect.check(options())).toEqual({ scope: '' });
  });

  it("tells how far the service's clock is ahead", async () => {
    const { connectDeps, options, clock } = await createWorld();
    const { requestTokens } = connectDeps.endpoint;
    const check = (aheadMs: number) =>
      createConnect({
        ...connectDeps,
        endpoint: {
          requestTokens: async (...args) => ({
            ...(await requestTokens(...args)),
            claimedTime: clock.now() + aheadMs,
          }),
        },
      }).check(options());

    expect(await check(90_000)).toEqual({ scope: 'v2 read write', clockOffSeconds: 90 });
    expect(await check(-3 * 86_400_000)).toEqual({ scope: 'v2 read write', clockOffSeconds: -259_200 });
  });

  it('asks with the credentials that are stored now, though others were accepted a moment ago', async () => {
    const { connectDeps, options, state } = await createWorld();
    const asked: string[] = [];
    const { check } = createConnect({
      ...connectDeps,
      endpoint: {
        requestTokens: (application, ...rest) => {
          asked.push(application.clientSecret.reveal());
          return connectDeps.endpoint.requestTokens(application, ...rest);
        },
      },
    });
    await check(options());
    await state.applicationSecret.write({ clientId: new Secret('client'), clientSecret: new Secret('new') });

    await check(options());

    expect(asked).toEqual(['hush', 'new']);
  });

  it('fails where the service does not accept the credentials', async () => {
    const { connectDeps, options } = await createWorld();
    const requestTokens = () => Promise.reject(new BridgeFault('client-rejected', 'who are you'));
    const { check } = createConnect({ ...connectDeps, endpoint: { requestTokens } });

    await expect(check(options())).rejects.toMatchObject({ code: 'client-rejected' });
  });
});

describe('sending a user to the consent page', () => {
  it('names the application, the scope, the state, and where to come back to', async () => {
    const { connectDeps } = await createWorld();
    const { authorize } = createConnect({
      ...connectDeps,
      consentPage: {
        authorizeUrl: ({ clientId, scope, state, redirectUri }) =>
          `https://partner/${[clientId.reveal(), scope, state, redirectUri].join(' ')}`,
      },
    });

    expect(await authorize({ state: 's1', redirectUri: 'https://here/' })).toEqual({
      url: 'https://partner/client v2 read write s1 https://here/',
    });
  });
});

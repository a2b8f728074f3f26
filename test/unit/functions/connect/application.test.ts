import { expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createWorld } from '../../../helpers/world.ts';

it('check requests a token of the application, and returns its scope and the clock difference', async () => {
  const { connectDeps, service, options, clock } = await createWorld();
  service.grants.length = 0;
  service.state.tokens = () => ({ access_token: 'a', scope: ' write+v2  read' });
  const check = (aheadMs?: number) =>
    createConnect({
      ...connectDeps,
      endpoint: {
        requestTokens: async (...args) => ({
          ...(await service.requestTokens(...args)),
          ...(aheadMs !== undefined && { claimedTime: clock.now() + aheadMs }),
        }),
      },
    }).check(options());

  expect(await check()).toEqual({ scope: 'write v2 read' });
  expect(service.grants).toEqual([{ type: 'client_credentials', scope: 'v2 read write' }]);
  service.state.tokens = () => ({ access_token: 'a' });
  expect(await check(-3 * 86_400_000)).toEqual({ scope: '', clockOffSeconds: -259_200 });
});

it('check uses the stored credentials, although others were accepted a moment ago', async () => {
  const { connectDeps, options, state, service } = await createWorld();
  const { check } = createConnect({
    ...connectDeps,
    endpoint: {
      requestTokens: async (application, ...rest) => {
        if (application.clientSecret.reveal() === 'wrong') throw new BridgeFault('client-rejected', 'no');
        return service.requestTokens(application, ...rest);
      },
    },
  });
  expect(await check(options())).toMatchObject({ scope: 'v2 read write' });
  await state.applicationSecret.write({ clientId: new Secret('client'), clientSecret: new Secret('wrong') });

  await expect(check(options())).rejects.toMatchObject({ code: 'client-rejected' });
});

it('authorize names the application, the scope, the state, and where to return to', async () => {
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

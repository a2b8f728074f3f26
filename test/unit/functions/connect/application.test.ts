import { expect, it } from 'vitest';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createWorld } from '../../../helpers/world.ts';

it('a check of the application returns its scope and the clock difference', async () => {
  const { connect, service, options, clock } = await createWorld();
  service.grants.length = 0;
  service.state.tokens = () => ({ access_token: 'a', scope: ' write+v2  read' });
  const { requestTokens } = service;

  expect(await connect.check(options())).toEqual({ scope: 'write v2 read' });
  expect(service.grants).toEqual([{ grant_type: 'client_credentials', scope: 'v2 read write' }]);
  service.state.tokens = () => ({ access_token: 'a' });
  service.requestTokens = async (...args) => ({
    ...(await requestTokens(...args)),
    claimedTime: clock.now() - 3 * 86_400_000,
  });
  expect(await connect.check(options())).toEqual({ scope: '', clockOffSeconds: -259_200 });
});

it('a check takes an application that is not stored', async () => {
  const { connect, service, options } = await createWorld();
  const used: string[] = [];
  const { requestTokens } = service;
  service.requestTokens = async (application, ...rest) => {
    used.push(application.clientSecret.reveal());
    return requestTokens(application, ...rest);
  };
  await connect.check(options(), { clientId: new Secret('client'), clientSecret: new Secret('new') });
  expect(used).toEqual(['new']);
});

it('an authorization names application, scope, state and return address', async () => {
  const { connect, service } = await createWorld();
  service.authorizeUrl = ({ clientId, scope, state, redirectUri }) =>
    `https://partner/${[clientId.reveal(), scope, state, redirectUri].join(' ')}`;

  expect(await connect.authorize({ state: 's1', redirectUri: 'https://here/' })).toEqual({
    url: 'https://partner/client v2 read write s1 https://here/',
  });
});

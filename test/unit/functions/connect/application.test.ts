import { expect, it } from 'vitest';
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

import { describe, expect, it } from 'vitest';
import { connectPorts, createConnect } from '../../../../functions/connect/connect.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createLimitedClient } from '../../../../shared/partner-api/partner-service.ts';
import { createTokenWorld } from '../../../helpers/token-world.ts';

describe('connect at the lowest rate', () => {
  it.each([0.1, 0.15, 7, 100_000])(
    'reads the feed once: %d requests a second',
    async (maxRequestsPerSecond) => {
      const { sandbox, deps, state, clock, observer, options } = await createTokenWorld();
      const settings = { maxRequestsPerSecond, circuitSeconds: 1_800, maxPauseSeconds: 3_600 };
      const limited = { baseUrl: sandbox.url, settings, budgetStore: state.budgetStore, observer, clock };
      const client = createLimitedClient(limited);
      const { connect } = createConnect({
        ...{ ...deps, ...connectPorts(state, client) },
        settings: { ...deps.settings, ...settings },
      });
      const request = { partnerAccount: 'shop', refreshToken: new Secret('sandbox-refresh-token-main') };

      const connected = await connect(request, options());

      expect(connected.feed).toMatchObject({ kind: 'read' });
      client.close();
    },
  );
});

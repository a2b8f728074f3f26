import { expect, it } from 'vitest';
import { checked } from '../../../shared/contract/checks.ts';
import { partnerAccount } from '../../../shared/domain/partner-account.ts';

// docs/decisions/0025-upgrades.md: an older bridge keeps a new field that may be missing in the rows of partner accounts.
it.each(['refreshing', 'token'])(
  'a field that a newer bridge has added to %s of a partner account is kept',
  (part) => {
    const row = {
      ...{ name: 'main', generation: 1_763_640_000, connectedAt: '2026-11-20T12:00:00Z' },
      refreshing: { holder: 'run-1', startedAt: 1, until: 2, added: 1 },
      token: { version: '1', expiresAt: 1, usedAt: 1, added: 1 },
    };

    expect(checked(partnerAccount, row, 'row')[part as 'token']).toMatchObject({ added: 1 });
  },
);

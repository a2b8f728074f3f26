import { expect, it } from 'vitest';
import { pausedFault } from '../../../../shared/partner-api/tokens/token-faults.ts';

it('a pause as a fault is never over at once, though its end has come', () => {
  expect(pausedFault('main', 'tired', -5).retryAfterMs).toBe(1);
});

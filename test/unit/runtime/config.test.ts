import { describe, expect, it } from 'vitest';
import { functionConfig } from '../../../shared/runtime/config.ts';

const environment = {
  PARTNER_BASE_URL: 'https://partner.example/',
  MAX_REQUESTS_PER_SECOND: '2.5',
  FEED_STATE_TABLE: 'feed-state',
  ADVERT_STATUS_TABLE: 'advert-status',
  OVERLAP_SECONDS: '300',
  EVENT_BUS_NAME: 'adverts',
  PARTNER_SECRET_POLICY: '{}',
};

describe('the settings of a function', () => {
  it('are read from its environment, with their defaults', () => {
    expect(functionConfig('connect', environment)).toEqual({
      partnerBaseUrl: 'https://partner.example',
      maxRequestsPerSecond: 2.5,
      requiredScope: 'v2 read write',
      circuitSeconds: 1800,
      maxPauseSeconds: 3600,
      overlapSeconds: 300,
      partnerSecretPolicy: '{}',
      feedStateTable: 'feed-state',
      namePrefix: 'advert-bridge',
      advertStatusTable: 'advert-status',
      eventBusName: 'adverts',
    });
  });

  it('name every variable that is missing or wrong, together, without its value', () => {
    const wrong = {
      ...environment,
      PARTNER_BASE_URL: 'http://hidden.example',
      FEED_STATE_TABLE: '',
      POLL_SECONDS: '0',
    };
    let message = '';
    try {
      functionConfig('drain', wrong);
    } catch (error) {
      message = String(error);
    }
    for (const name of [
      'PARTNER_BASE_URL',
      'FEED_STATE_TABLE',
      'POLL_SECONDS',
      'QUEUE_URL',
      'REFRESH_TOKEN_FUNCTION',
    ]) {
      expect(message).toContain(name);
    }
    expect(message).not.toContain('hidden');
  });
});

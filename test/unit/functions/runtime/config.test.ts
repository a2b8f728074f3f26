import { expect, it } from 'vitest';
import { functionConfig } from '../../../../functions/runtime/config.ts';

const environment = {
  SETTINGS: JSON.stringify({ partnerBaseUrl: 'https://partner.example/', maxRequestsPerSecond: 2.5 }),
  FEED_STATE_TABLE: 'feed-state',
  ADVERT_STATUS_TABLE: 'advert-status',
  EVENT_BUS_NAME: 'adverts',
  NAME_PREFIX: 'advert-bridge',
  PARTNER_SECRET_POLICY: '{}',
};

function messageOf(given: Record<string, string>): string {
  try {
    functionConfig('drain', given);
  } catch (error) {
    return String(error);
  }
  return '';
}

it('settings of a function come from its environment, or have defaults', () => {
  expect(functionConfig('connect', environment)).toMatchObject({
    partnerBaseUrl: 'https://partner.example',
    maxRequestsPerSecond: 2.5,
    overlapSeconds: 300,
    partnerSecretPolicy: '{}',
    feedStateTable: 'feed-state',
    namePrefix: 'advert-bridge',
    advertStatusTable: 'advert-status',
    eventBusName: 'adverts',
  });
});

it('every missing or wrong variable is named together, without its value', () => {
  const SETTINGS = JSON.stringify({ partnerBaseUrl: 'http://hidden.example', pollSeconds: 0 });
  const message = messageOf({ ...environment, SETTINGS, FEED_STATE_TABLE: '' });

  for (const name of ['SETTINGS.partnerBaseUrl', 'SETTINGS.pollSeconds', 'FEED_STATE_TABLE', 'QUEUE_URL']) {
    expect(message).toContain(name);
  }
  expect(message).not.toContain('hidden');
});

it.each(['', '{"partnerBaseUrl'])('settings of a function are not read from %j', (SETTINGS) => {
  expect(messageOf({ ...environment, SETTINGS })).toContain('SETTINGS: expected JSON');
});

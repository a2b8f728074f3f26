import { expect, it } from 'vitest';
import { withoutRepeats } from '../../../../cli/run/repeats.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';

function observe(accountFaults: boolean) {
  const recording = createRecordingObserver();
  let nowMs = 0;
  const observer = withoutRepeats(recording, { accountFaults, now: () => nowMs });
  return {
    observer,
    lines: recording.lines,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

it('tells the same trouble once a minute, with how often it was not told', () => {
  const { observer, lines, pass } = observe(true);

  for (let second = 0; second < 60; second += 1) {
    observer.warn('advert not settled', {
      partnerAccount: 'main',
      fault: 'transient',
      advertId: String(second),
    });
    pass(1000);
  }
  observer.warn('advert not settled', { partnerAccount: 'main', fault: 'transient', advertId: '60' });

  expect(lines).toHaveLength(2);
  expect(lines[1]?.fields).toMatchObject({ advertId: '60', repeatedSince: 59 });
});

it('tells of each account, fault and dead-lettered advert', () => {
  const { observer, lines } = observe(true);

  for (const partnerAccount of ['main', 'other']) {
    for (const fault of ['transient', 'rate-limited'])
      observer.warn('advert not settled', { partnerAccount, fault });
  }
  for (const advertId of ['1', '2'])
    observer.error('message dead-lettered', { fault: 'forbidden', advertId });

  expect(lines).toHaveLength(6);
});

it('leaves out what the command itself ends with', () => {
  const { observer, lines } = observe(false);

  observer.warn('the feed could not be read', {
    partnerAccount: 'main',
    feed: 'adverts',
    fault: 'transient',
  });
  observer.error('the token cannot be refreshed', { partnerAccount: 'main', fault: 'client-rejected' });
  observer.error('message dead-lettered', { partnerAccount: 'main', fault: 'forbidden', advertId: '1' });

  expect(lines.map(({ message }) => message)).toEqual(['message dead-lettered']);
});

import { beforeEach, expect, it } from 'vitest';
import { withoutRepeats } from '../../../../../operators/cli/run/repeats.ts';
import { createRecordingObserver } from '../../../../helpers/recording-observer.ts';

let recording: ReturnType<typeof createRecordingObserver>;
let nowMs = 0;
const observe = () => withoutRepeats(recording, () => nowMs);

beforeEach(() => {
  recording = createRecordingObserver();
});

it('a repeated warning is logged once a minute, with its count', () => {
  const observer = observe();
  const common = { partnerAccount: 'main', fault: 'transient' };

  for (let second = 0; second <= 60; second += 1) {
    observer.warn('advert not settled', { ...common, advertId: String(second) });
    nowMs += 1000;
  }

  expect(recording.lines).toHaveLength(2);
  expect(recording.lines[1]?.fields).toMatchObject({ advertId: '60', repeatedSince: 59 });
});

it('warnings of each account and fault, and each dead letter, are logged', () => {
  const observer = observe();

  for (const partnerAccount of ['main', 'other']) {
    for (const fault of ['transient', 'rate-limited'])
      observer.warn('advert not settled', { partnerAccount, fault });
  }
  for (const advertId of ['1', '2'])
    observer.error('message dead-lettered', { fault: 'forbidden', advertId });

  expect(recording.lines).toHaveLength(6);
});

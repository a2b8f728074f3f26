import { describe, expect, it } from 'vitest';
import { createUnread } from '../../../shared/sqlite/queue/unread.ts';

describe('what is not read yet', () => {
  it('tells where the messages of an advert stand, once', () => {
    const unread = createUnread(10);
    for (const [place, group] of ['a', 'b', 'a'].entries()) unread.add(group, place + 1);
    expect(unread.take('a', 1)).toEqual([1, 3]);
    expect(unread.take('a', 1)).toEqual([]);
    expect(unread.take('b', 2)).toEqual([2]);
  });

  it('knows nothing across a place that somebody else has taken: an older one may stand there', () => {
    const unread = createUnread(10);
    unread.add('a', 1);
    unread.add('a', 3);
    unread.add('a', 4);
    expect(unread.take('a', 1)).toEqual([]);
    expect(unread.take('a', 3)).toEqual([3, 4]);
  });

  it('begins anew when it is full', () => {
    const unread = createUnread(2);
    for (const place of [1, 2, 3]) unread.add('a', place);
    expect(unread.take('a', 1)).toEqual([]);
    expect(unread.take('a', 3)).toEqual([3]);
  });

  it('has room again for what was taken', () => {
    const unread = createUnread(2);
    unread.add('a', 1);
    unread.add('b', 2);
    expect(unread.take('a', 1)).toEqual([1]);
    unread.add('c', 3);
    expect(unread.take('b', 2)).toEqual([2]);
    expect(unread.take('c', 3)).toEqual([3]);
  });
});

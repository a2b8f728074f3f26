import type { Resynced } from '../../../operations/resync.ts';
import { nextLine, type Target } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';

export const more = `Where changes before TIME are still unread, reading begins at those, so that none is left out.

The stored cursor is replaced together with the first page that the queue has accepted, not before: if the service refuses
TIME, perhaps because it lies too far back, nothing has changed. Each advert that the feed names is fetched again (cause
"resync"); one whose status was published already gets no event. Ctrl-C stops after the current page, and the bridge itself
continues from there.

Examples:
  advert-bridge resync main --since 2026-11-20T12:00:00Z --local .advert-bridge
  advert-bridge resync main --since 2026-11-20T12:00:00Z   (the deployed stack)`;

export function progressText(listed: number, waitsFor: 'feed' | 'queue' | undefined): string {
  if (waitsFor === 'feed') return 'waiting for the bridge to finish its own reading of the feed';
  return `${count(listed)} adverts listed${waitsFor ? ', waiting for the queue to empty' : ''}`;
}

export function resyncedLines(target: Target, name: string, { since, listed, finished }: Resynced): string[] {
  if (finished) {
    return [
      `Read the feed of ${name} again since ${since}: ${count(listed)} adverts are fetched again.`,
      nextLine(target, name),
    ];
  }
  return [
    listed === 0
      ? 'Stopped before anything was changed.'
      : `Stopped after ${count(listed)} adverts: the bridge continues from there.`,
  ];
}

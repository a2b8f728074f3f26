import type { ReplayProgress } from '../../../operations/replay.ts';
import { commandFor, type Target } from '../../shared/target.ts';

export const more = `The bus's archive keeps what was published for 90 days. A replay sends it again, with its eventId, to the targets of one rule:
name the subscriber's with --rule, or give its ARN where the rule is in another AWS account. EventBridge replays in no order,
and takes some minutes to archive an event. TO has to lie in the past.

Ctrl-C stops watching, and the replay goes on; --cancel ends it.

Examples:
  advert-bridge replay --from 2026-11-19T00:00:00Z --to 2026-11-20T00:00:00Z --rule OnAdvertChange
  advert-bridge replay --from 2026-11-19T00:00:00Z --to 2026-11-20T00:00:00Z --every-rule
  advert-bridge replay --cancel advert-bridge-20261121081500000-a1b2c3`;

export const progressText = (name: string, { state, lastReplayed }: ReplayProgress): string =>
  `replay ${name}: ${state.toLowerCase()}${lastReplayed ? `, at ${lastReplayed}` : ''}`;

export const cancelledText = (name: string, isOver: boolean, state: string): string =>
  isOver ? `Replay ${name} has ended already (${state}).` : `Replay ${name} is being cancelled.`;

export const goesOnText = (target: Target, name: string): string =>
  `The replay goes on. To end it: \`${commandFor(target, `replay --cancel ${name}`)}\``;

export const replayedText = (name: string, lastReplayed: string | null): string =>
  lastReplayed === null
    ? `Replayed: the archive has no event of that time (${name}).`
    : `Replayed, up to the event of ${lastReplayed} (${name}).`;

import type { ShownPause } from '../../../operations/account-status.ts';
import { commandFor, type Target } from '../../shared/target.ts';

export const more = `From at most 5 seconds later no page and no advert is asked for; a request on its way ends. Token requests go on, so that no
refresh token dies of a long pause. Messages wait outside the queue, and no pause makes them too old. status shows who paused
what, since when, until when and why; given again, the later pause holds. A pause of the whole bridge and that of a partner
account are kept apart: both have to be over.

On a stack it is written with your own AWS credentials, which need dynamodb:GetItem, PutItem, Query and UpdateItem on the
feed-state table.

Examples:
  advert-bridge pause main --for 2h --reason "their migration" --local .advert-bridge
  advert-bridge pause --reason "the service asked us to"   (the deployed stack, all partner accounts)`;

export function pausedLines(target: Target, name: string | undefined, { who, until }: ShownPause): string[] {
  const command = commandFor(target, name === undefined ? 'resume' : `resume ${name}`);
  const end = until === null ? 'until somebody resumes it' : `until ${until}`;
  return [
    `Paused ${name ?? 'the whole bridge'} ${end}, as ${who}: from 5 seconds on, no requests are sent to the partner service${name === undefined ? '' : ' for it'}, ` +
      'except to refresh tokens.',
    `To end that${until === null ? '' : ' earlier'}: \`${command}\``,
  ];
}

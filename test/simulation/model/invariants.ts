/**
 * The invariants that must hold in every run, whatever fails. docs/contribute/reliability.md says where each is
 * checked.
 */
export const invariants = {
  'no-change-lost':
    'after the feed has listed a change, the advert is fetched and its status published, or a message about it is dead-lettered or aside',
  'cursor-behind-queue': 'a cursor is stored only when the queue has accepted every ID of its page',
  'one-history':
    'within a generation, events of an advert are numbered 1, 2, 3 …; two events with the same number have the same content, and an event with a higher number was not fetched earlier',
  'previous-status': 'the previous status of an event is the status of the event before it',
  'one-poller': 'a drain that has lost its lease stores nothing',
  'credentials-kept':
    'no credential is lost, disclosed, or used for a generation of another user; each stop and its end are reported once',
  'service-not-hammered':
    'all processes together stay within the request rate, and pause when the service asks for it',
  'operator-pause-kept':
    'during an operator’s pause, only token requests are sent for the paused accounts; no message is given up because of the pause, and waiting messages come back after it',
  'nobody-delays-another': 'one bad advert or partner account does not delay others',
  'few-dead-letters':
    'while every advert is refused alike, about one message a minute is tried, and none is given up',
  'books-balance': 'the books account for every ID that was listed',
  'history-answers': '`history` reports correctly what happened to an advert',
  'audit-true':
    'when nothing changes any more, an audit finds only what was given up, and every advert that it has handled is published right',
  'run-ends': 'the run itself ends without an error',
} as const;
export type Invariant = keyof typeof invariants;

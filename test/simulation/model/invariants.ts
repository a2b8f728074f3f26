/**
 * The invariants that must hold in every run, whatever fails. docs/contribute/reliability.md says where each is
 * checked.
 */
export const invariants = {
  'no-change-lost':
    'after the feed has listed a change, the advert is fetched and its status published, or a message about it is dead-lettered or parked',
  'cursor-behind-queue': 'a cursor is stored only when the queue has accepted every ID of its page',
  'one-history':
    'events of an advert are numbered 1, 2, 3 … within a generation; a number has one content for ever, and a higher one was not fetched earlier',
  'previous-status': 'the previous status of an event is the status of the event before it',
  'one-poller': 'a drain that has lost its lease stores nothing',
  'credentials-kept':
    'no credential is lost, shown, or used for a generation of another user; a stop is reported once, and so is its end',
  'service-not-hammered':
    'requests of all processes together stay within the rate, and pause when the service asks for it',
  'operator-pause-kept':
    'while an operator has something paused nothing is asked of the service for it, tokens apart; nothing is given up for it, and what waited comes back after it',
  'nobody-delays-another': 'one bad advert or partner account delays no other',
  'books-balance': 'the books account for every ID that was listed',
  'history-answers': 'what `history` says of an advert is what became of it',
  'audit-true':
    'an audit names what was published and is not so, all of it, and nothing that a change explains',
  'run-ends': 'the run itself ends without an error',
} as const;
export type Invariant = keyof typeof invariants;

import type { Books } from '../ports/books.ts';

/** Of a generation of which nothing was listed yet. */
export const emptyBooks: Books = {
  listed: 0,
  events: 0,
  unchanged: 0,
  coalesced: 0,
  unavailable: 0,
  deadLettered: 0,
  inFlight: 0,
};

/**
 * Tests of the queue's suite that fauxqs cannot pass: SQS hands out several messages of a group at once, and the event source
 * mapping does; fauxqs only the first.
 */
export const needsGroupsTogether = new Set([
  'hands out the messages of one advert together, oldest first, with rising positions',
  'hands out no more of an advert than was asked for',
  'takes at most so many adverts, the one waiting longest first',
  'counts what waits for one partner account, what is in flight included',
  'hands out again at once what goes back without a delay, counted and at a greater position',
]);

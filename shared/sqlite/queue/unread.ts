/**
 * Where the messages stand that this process has sent and not read again yet, so that those of one advert are found
 * wherever they stand, without an index in the file. Some hundred bytes each.
 *
 * Of an unbroken stretch of the queue only: where another process has put messages in between, there may be one of the same
 * advert among them, and that one comes first.
 */
export function createUnread(most: number) {
  const places = new Map<string, number[]>();
  let count = 0;
  /** The stretch that all places are of: row numbers, the first and the last. */
  let from = 0;
  let to = -1;

  function startAt(place: number): void {
    places.clear();
    count = 0;
    from = place;
  }

  return {
    /** Messages in the order in which they were sent. @param group what waits for one another */
    add(group: string, place: number): void {
      if (place !== to + 1 || count >= most) startAt(place);
      to = place;
      count += 1;
      const known = places.get(group);
      if (known) known.push(place);
      else places.set(group, [place]);
    },

    /** Where the messages of a group stand, the one at `place` among them; forgotten then. Empty where that is unknown. */
    take(group: string, place: number): readonly number[] {
      const found = place >= from ? places.get(group) : undefined;
      if (!found) return [];
      places.delete(group);
      count -= found.length;
      return found;
    },
  };
}

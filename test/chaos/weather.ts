import type { Sandbox } from '../../sandbox/server.ts';
import { pick, type Random } from '../../sandbox/state/random.ts';

export type Weather = ReturnType<typeof createWeather>;

const statuses = ['active', 'new', 'limited', 'removed_by_user', 'outdated', 'blocked'];

/** What happens at the service while the bridge runs and dies, to its initial `users`. */
export function createWeather({ control, users }: Pick<Sandbox, 'control' | 'users'>, random: Random) {
  const touched = new Set<string>();
  const gone = new Set<string>();
  const known = users.map(({ name }) => control.truth(name).map(({ id }) => id));
  let made = 0;

  const set = (id: string, status: string) => {
    control.setStatus(id, status);
    made += 1;
  };

  /** Makes one to three changes of an advert. */
  function change(): void {
    const index = Math.floor(random() * users.length);
    const ids = known[index] as string[];
    const kind = random();
    if (kind < 0.05) {
      const [id = ''] = control.createAdverts(1, { user: users[index]?.name ?? '' });
      ids.push(id);
      touched.add(id);
      made += 1;
      return;
    }
    // A few adverts change all the time, the others occasionally.
    const id = random() < 0.4 ? (ids[Math.floor(random() * 5)] as string) : pick(random, ids);
    touched.add(id);
    if (gone.has(id)) {
      control.restore(id, random() < 0.5 ? undefined : pick(random, statuses));
      gone.delete(id);
      made += 1;
    } else if (kind < 0.15) {
      control.remove(id);
      gone.add(id);
      made += 1;
    } else if (kind < 0.3) {
      const before = control.advert(id)?.status as string;
      set(id, pick(random, statuses));
      set(id, before);
    } else set(id, pick(random, statuses));
  }

  /** Occasionally lets tokens expire, invalidates cursors, or changes the visibility delay. */
  function turn(): void {
    const kind = random();
    const { name } = pick(random, users);
    if (kind < 0.15) control.expireAccessTokens(name);
    else if (kind < 0.18) control.expireAccessTokens();
    else if (kind < 0.2) control.invalidateCursors(name);
    else if (kind < 0.5) control.change({ visibilityDelayMs: Math.floor(random() * 1000) });
  }

  /** Starts the faults that last until `clear`. */
  function faults(): void {
    const { faults: book } = control;
    for (const endpoint of ['advert', 'feed', 'token'] as const) {
      book.add({ endpoint, kind: 'status', status: 500, probability: 0.02 });
      book.add({ endpoint, kind: 'reset', probability: 0.02 });
      book.add({ endpoint, kind: 'lost-answer', probability: 0.02 });
      book.add({ endpoint, kind: 'cut-off', probability: 0.01 });
      book.add({ endpoint, kind: 'delay', delayMs: 250, probability: 0.04 });
    }
  }

  return {
    ...{ change, turn, faults },
    clear: () => control.faults.clear(),
    /** Adverts that the feed has listed. */
    touched: touched as ReadonlySet<string>,
    made: () => made,
  };
}

import type { DeadLetter } from '../../shared/contract/messages.ts';

/** A dead letter, with the partner account and generation whose books count it. */
export interface StoredLetter {
  readonly id: string;
  readonly letter: DeadLetter;
  readonly partnerAccount: string;
  readonly generation: number;
}

/** Stores dead letters in the order of their arrival. */
export function createLetterStore() {
  const stored = new Map<string, StoredLetter>();
  let lastId = 0;

  return {
    add(letter: DeadLetter, partnerAccount: string, generation: number): void {
      lastId += 1;
      const id = String(lastId);
      stored.set(id, { id, letter, partnerAccount, generation });
    },
    get: (id: string): StoredLetter | undefined => stored.get(id),
    remove: (id: string): boolean => stored.delete(id),
    size: (): number => stored.size,
    list: (partnerAccount?: string): { id: string; letter: DeadLetter }[] =>
      [...stored.values()]
        .filter((one) => partnerAccount === undefined || one.partnerAccount === partnerAccount)
        .map(({ id, letter }) => ({ id, letter })),
  };
}

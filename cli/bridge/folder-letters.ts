import type { LetterChoice, StoredLetters } from '../../shared/ports/dead-letters.ts';
import type { EmbeddedState } from '../../shared/sqlite/state.ts';

/** The dead letters in an embedded bridge's state. */
export function folderLetters({ deadLetters }: Pick<EmbeddedState, 'deadLetters'>): StoredLetters {
  async function list({ ids, partnerAccount }: LetterChoice) {
    const all = await deadLetters.list(ids === undefined ? partnerAccount : undefined);
    const wanted = ids && new Set(ids);
    return { letters: wanted ? all.filter(({ id }) => wanted.has(id)) : all, unseen: 0 };
  }

  return {
    list,

    async redrive(choice) {
      const [done, nothingToSend]: [string[], string[]] = [[], []];
      for (const id of choice.ids ?? (await list(choice)).letters.map((letter) => letter.id)) {
        const outcome = await deadLetters.redrive(id);
        if (outcome === 'redriven') done.push(id);
        if (outcome === 'nothing-to-send') nothingToSend.push(id);
      }
      return { done, nothingToSend, refused: [], unseen: 0 };
    },

    async drop({ ids }) {
      const done: string[] = [];
      for (const id of ids) if (await deadLetters.take(id)) done.push(id);
      return { done, nothingToSend: [], refused: [], unseen: 0 };
    },
  };
}

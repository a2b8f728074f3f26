import type { EmbeddedState } from '../../../shared/sqlite/state.ts';
import type { DeadLetters, LetterChoice, LetterOutcome } from '../../shared/bridge.ts';

/** The dead letters in an embedded bridge's state, as the commands see them. */
export function createLocalLetters(
  stored: Pick<EmbeddedState['deadLetters'], 'list' | 'redrive' | 'take'>,
): DeadLetters {
  async function list({ ids, partnerAccount }: LetterChoice) {
    const narrowed = ids === undefined && partnerAccount !== undefined ? { partnerAccount } : {};
    const all = await stored.list({ ...narrowed, limit: Number.MAX_SAFE_INTEGER });
    const wanted = ids && new Set(ids);
    return { letters: wanted ? all.filter(({ id }) => wanted.has(id)) : all, unseen: 0 };
  }

  async function redrive(choice: LetterChoice): Promise<LetterOutcome> {
    const [done, nothingToSend]: [string[], string[]] = [[], []];
    for (const id of choice.ids ?? (await list(choice)).letters.map((letter) => letter.id)) {
      const outcome = await stored.redrive(id);
      if (outcome === 'redriven') done.push(id);
      if (outcome === 'nothing-to-send') nothingToSend.push(id);
    }
    return { done, nothingToSend, refused: [], unseen: 0 };
  }

  async function drop({ ids }: { readonly ids: readonly string[] }): Promise<LetterOutcome> {
    const done: string[] = [];
    for (const id of ids) if (await stored.take(id)) done.push(id);
    return { done, nothingToSend: [], refused: [], unseen: 0 };
  }

  return { list, redrive, drop };
}

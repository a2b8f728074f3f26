import { advertId } from '../../../shared/contract/checks.ts';
import { printedHistory } from '../../operations/findings/history-text.ts';
import { readHistory } from '../../operations/history.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, say } from '../shared/io.ts';
import { nameArgument } from '../shared/options.ts';

export const addHistory = defineCommand(
  {
    help: `explain why an event of an advert was published or not
What the bridge knows, in order of time; the last sentence is the answer. Begin here when an event did not
come. With --json, \`latest\` is the latest event as it was recorded, and \`events\` are all that the folder keeps. A page is named by the correlation ID
that stands in the event and in the log lines.

Examples:
  $0 history main 123 --local .advert-bridge
  $0 history main 123 --json   (the deployed stack)`,
    options: {
      partnerAccount: nameArgument,
      advertId: { argument: '<ADVERT>', help: 'the ID of the advert', schema: advertId },
    },
  },
  async ({ io, target, options, json, answer, command }) => {
    const history = await withBridge(target, async (bridge) =>
      printedHistory(await readHistory(bridge, options)),
    );
    answer(history, ...history.facts.map(({ at, says }) => `${at}  ${says}`), history.answer);
    const deadLetter = history.deadLetters.at(-1);
    if (history.outcome === 'dead-lettered' && deadLetter && !json) {
      say(io, `When the cause is fixed: ${command(`dead-letters redrive ${deadLetter.id}`)}`);
    }
    return exitCodes.done;
  },
);

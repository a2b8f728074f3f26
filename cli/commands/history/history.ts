import { readHistory } from '../../../operations/history/read-history.ts';
import { advertId } from '../../../shared/contract/checks.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes, say } from '../../shared/io.ts';
import { nameArgument } from '../../shared/options.ts';
import { historyText, more, nextText } from './text.ts';

export const addHistory = defineCommand(
  {
    name: 'history',
    group: 'watch',
    summary: 'explain why an event of an advert was published or not',
    description:
      'Shows when an advert was listed and by which page of the feed, its last event, its waiting messages and its dead ' +
      'letters. The last sentence is the answer. Changes nothing.',
    more,
    args: {
      partnerAccount: nameArgument,
      advertId: { syntax: '<ADVERT>', help: 'the ID of the advert', schema: advertId },
    },
    options: {},
  },
  async ({ io, target, args, json, answer }) => {
    const history = await withBridge(target, (bridge) => readHistory(bridge, args, Date.now()));
    answer(history, historyText(history));
    const next = nextText(history, target);
    if (next !== undefined && !json) say(io, next);
    return exitCodes.done;
  },
);

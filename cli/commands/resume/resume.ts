import { resume } from '../../../operations/pause.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes } from '../../shared/io.ts';
import { flag, optionalName } from '../../shared/options.ts';
import { more, resumedLines } from './text.ts';

export const addResume = defineCommand(
  {
    name: 'resume',
    summary: 'end a pause',
    description:
      'Ends a pause that `pause` began: the pause of NAME, or without NAME that of the whole bridge.',
    more,
    args: { name: optionalName('only this partner account') },
    options: { early: flag('end also a pause that the service asked for, and an open circuit') },
  },
  async ({ target, args: { name }, options: { early }, report }) => {
    const resumed = await withBridge(target, (bridge) => resume(bridge, name, { early }));
    report({ partnerAccount: name ?? null, ...resumed }, ...resumedLines(target, name, resumed));
    return resumed.stillPaused ? exitCodes.needsPerson : exitCodes.done;
  },
);

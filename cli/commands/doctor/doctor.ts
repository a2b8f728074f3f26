import { examine } from '../../../operations/doctor.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes } from '../../shared/io.ts';
import { withExamined } from '../../targets/examined.ts';
import { commonChecks } from './common-checks.ts';
import { findingFor } from './failed-check.ts';
import { doctorText, more } from './text.ts';

export const addDoctor = defineCommand(
  {
    name: 'doctor',
    group: 'watch',
    summary: 'check the whole bridge',
    description:
      'Checks the whole bridge, changes nothing, and prints for each fault the command or setting that fixes it.',
    more,
  },
  async ({ target, answer }) => {
    const checks = await withExamined(target, (examined, place) =>
      examine([...examined.checks, ...commonChecks(examined, target)], {
        explain: (error) => findingFor(error, place),
      }),
    );
    answer({ checks }, doctorText(checks));
    if (checks.some(({ result }) => result === 'fault')) return exitCodes.fault;
    return checks.some(({ result }) => result === 'warning') ? exitCodes.needsPerson : exitCodes.done;
  },
);

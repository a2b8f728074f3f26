import { once } from '../../../../operations/ask.ts';
import { readStatus } from '../../../../operations/status.ts';
import type { Opening } from '../../../bridge/opening.ts';
import type { StackTarget } from '../../../shared/target.ts';
import type { Examined } from '../../ports/examined.ts';
import { alarmChecks } from './alarms.ts';
import { busChecks } from './bus.ts';
import { readFacts } from './facts.ts';
import { functionChecks } from './functions.ts';
import { identityChecks } from './identity.ts';
import { leftoversCheck } from './leftovers.ts';
import { queueCheck } from './queues.ts';
import { secretChecks } from './secrets.ts';
import { tableChecks } from './tables.ts';

/**
 * What `doctor` examines on a deployed stack. All of its requests to AWS only read, except for the check by the connect
 * function.
 */
export function stackExamined(opening: Opening<StackTarget>): Examined {
  const facts = readFacts(opening);
  return {
    checks: [
      ...identityChecks(facts),
      ...functionChecks(facts),
      queueCheck(facts),
      ...alarmChecks(facts),
      ...busChecks(facts),
      ...tableChecks(facts),
      ...secretChecks(facts),
      leftoversCheck(facts),
    ],
    status: once(async () => {
      // Resources that AWS runs have their own checks.
      const { stack: _stack, ...ports } = await facts.bridge();
      return readStatus(ports, Date.now());
    }),
    askService: async () => (await facts.bridge()).functions.checkApplication(),
  };
}

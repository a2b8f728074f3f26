import { StateError } from '../../../embedded/state/file/state-error.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { once } from '../../operations/bridge.ts';
import {
  type CheckResult,
  examine,
  fault,
  orSkip,
  type Result,
  skipped,
} from '../../operations/doctor/check.ts';
import { CommandError } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import type { FolderBridge } from '../bridge/open-folder.ts';
import { defineCommand } from '../shared/command.ts';
import { explained, isDenied } from '../shared/explain.ts';
import { exitCodes } from '../shared/io.ts';
import type { LocalTarget, StackTarget, Target } from '../shared/target.ts';

const help = `check the whole bridge
Changes nothing. Each line is a check: ok, warning, fault, or skipped if there is nothing to check or another
fault must be fixed first. The remedy is printed below it. The only request to the partner service asks for a
token of the application, which is not stored; no token of a partner account is used.

Exit codes: 0 all is right, 1 a fault, 3 warnings only. docs/operate/doctor.md lists the checks.

Examples:
  advert-bridge doctor --local .advert-bridge
  advert-bridge doctor --json   (the deployed stack)`;

export const addDoctor = defineCommand(
  {
    help,
  },
  async ({ target, answer }) => {
    // The bridge need not exist, and nothing in it is changed.
    const checks = await (target.kind === 'local' ? examineFolder(target) : examineStack(target));
    answer({ checks }, ...doctorLines(checks));
    if (checks.some(({ result }) => result === 'fault')) return exitCodes.fault;
    return checks.some(({ result }) => result === 'warning') ? exitCodes.needsPerson : exitCodes.done;
  },
);

const unreadable = 'needs a state file that can be read: see state-file';

async function examineFolder(target: LocalTarget): Promise<CheckResult[]> {
  const { bridgeFacts } = await import('../../operations/doctor/bridge-checks.ts');
  const { folderChecks, stateChecks } = await import('../../operations/doctor/folder-checks.ts');
  const examineState = (bridge: FolderBridge) => {
    const baseUrl = bridge.baseUrl();
    const facts = { ...bridgeFacts(bridge, { ...target, baseUrl }), bridge };
    return examine(stateChecks, async () => facts, explaining(target, baseUrl));
  };
  const skipAll = () => Object.keys(stateChecks).map((name) => ({ name, ...skipped(unreadable) }));
  const results = [
    examine(folderChecks, async () => target, explaining(target)),
    withBridge(target, examineState, { isReadOnly: true }).catch(skipAll),
  ];
  return (await Promise.all(results)).flat();
}

async function examineStack(target: StackTarget): Promise<CheckResult[]> {
  const { openStack } = await import('../bridge/open-stack.ts');
  const { placeChecks, stackChecks } = await import('../../operations/doctor/stack-checks.ts');
  const { stackFacts } = await import('../../operations/doctor/stack-facts.ts');
  const { stackClients } = await import('../../operations/stack-clients.ts');
  const clients = stackClients();
  const [stack = ''] = target.stack.split('/');
  const place = { ...target, clients, stack, version: packageJson.version };
  const opened = once(async () => stackFacts(await openStack(target, clients), place));
  const explain = explaining(target);
  const results = [
    examine(placeChecks, async () => ({ ...place, opened }), explain),
    examine(stackChecks, () => orSkip(opened(), 'needs the stack: see stack'), explain),
  ];
  return (await Promise.all(results)).flat();
}

const again = 'Run doctor again; if this remains, investigate it';
const unknownOperation = /^(UnknownOperation|InvalidAction|UnsupportedOperation|NotImplemented)/;

/** Says what the error of a check means; undefined for an unexpected error. */
const explaining =
  (target: Target, baseUrl?: string) =>
  (error: unknown): Result | undefined => {
    const cause = isDenied(error) ? error : (error as Error | undefined)?.cause;
    if (isDenied(cause)) {
      const action = /perform: ([\w-]+:\w+)/.exec(cause.message)?.[1];
      const mend = action ? `Allow ${action} to whoever runs doctor` : `Ask who may: ${cause.message}`;
      return fault(`could not be checked: AWS denies ${action ?? 'it'}`, mend);
    }
    if (error instanceof StateError && error.code === 'state-damaged') return skipped(unreadable);
    const endpoint = process.env.AWS_ENDPOINT_URL;
    if (error instanceof Error && unknownOperation.test(error.name) && endpoint)
      return skipped(`${endpoint} does not know this call`);
    const known = explained(error, target, baseUrl);
    return known instanceof CommandError ? fault(known.says, known.mend ?? again) : undefined;
  };

function doctorLines(checks: readonly CheckResult[]): string[] {
  const lines = checks.flatMap(({ name, result, says, mend }) => [
    `${result.padEnd('warning'.length)}  ${name}: ${says}`,
    ...(mend === null ? [] : mend.split('\n').map((line) => `           ${line}`)),
  ]);
  const counts = (['fault', 'warning', 'skipped', 'ok'] as const)
    .map((result) => `${checks.filter((check) => check.result === result).length} ${result}`)
    .filter((text) => !text.startsWith('0 '));
  return [...lines, counts.join(', ')];
}

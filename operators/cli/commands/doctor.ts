import { StateError } from '../../../embedded/state/file/state-error.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { once } from '../../operations/bridge.ts';
import {
  type CheckResult,
  examine,
  type Found,
  orSkip,
  SkippedError,
} from '../../operations/doctor/check.ts';
import { CommandError } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import type { FolderBridge } from '../bridge/open-folder.ts';
import { denialOf } from '../shared/aws-fault.ts';
import { defineCommand } from '../shared/command.ts';
import { explained } from '../shared/explain.ts';
import { exitCodes, type Line } from '../shared/io.ts';
import type { LocalTarget, StackTarget, Target } from '../shared/target.ts';

export const addDoctor = defineCommand(
  {
    help: `check the whole bridge
Changes nothing. Each line is a check: ok, warning, fault, or skipped if there is nothing to check or another
fault must be fixed first. The remedy is printed below it. The only request to the partner service asks for a
token of the application, which is not stored; no token of a partner account is used.

Exit codes: 0 all is right, 1 a fault, 3 warnings only. docs/operate/doctor.md lists the checks.

Examples:
  $0 doctor --local .advert-bridge
  $0 doctor --json   (the deployed stack)`,
  },
  async ({ target, answer }) => {
    // The bridge need not exist, and nothing in it is changed.
    const checks = await (target.kind === 'local' ? examineFolder(target) : examineStack(target));
    const printed = checks.map(({ mends, ...check }) => ({ ...check, mend: mends.join('\n') || null }));
    answer({ checks: printed }, ...doctorLines(checks));
    if (checks.some(({ result }) => result === 'fault')) return exitCodes.fault;
    return checks.some(({ result }) => result === 'warning') ? exitCodes.needsPerson : exitCodes.done;
  },
);

async function examineFolder(target: LocalTarget): Promise<CheckResult[]> {
  const { bridgeFacts } = await import('../../operations/doctor/bridge-checks.ts');
  const { folderChecks, stateChecks } = await import('../../operations/doctor/folder-checks.ts');
  const examineState = (bridge: FolderBridge) => {
    const baseUrl = bridge.baseUrl();
    // Loads the AWS SDK only for a folder that publishes on a bus.
    const lookAtBus = async (arn: string) => (await import('../run/event-bus.ts')).eventBusAt(arn).look();
    const facts = { ...bridgeFacts(bridge, { ...target, baseUrl }), bridge, lookAtBus };
    return examine({
      ...target,
      checks: stateChecks,
      facts: async () => facts,
      explain: explaining(target, baseUrl),
    });
  };
  const explain = explaining(target);
  const refused = (checks: Partial<typeof stateChecks>, error: unknown) =>
    examine({ ...target, checks: checks as typeof stateChecks, facts: () => Promise.reject(error), explain });
  async function unopened(error: unknown): Promise<CheckResult[]> {
    if (!(error instanceof CommandError && ['moved', 'moving'].includes(error.code ?? '')))
      return refused(stateChecks, new SkippedError('needs-state'));
    const { run, ...others } = stateChecks;
    return [...(await refused({ run }, error)), ...(await refused(others, new SkippedError('moved')))];
  }
  const results = [
    examine({ ...target, checks: folderChecks, facts: async () => target, explain }),
    withBridge(target, examineState, { isReadOnly: true }).catch(unopened),
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
    examine({ ...target, checks: placeChecks, facts: async () => ({ ...place, opened }), explain }),
    examine({ ...target, checks: stackChecks, facts: () => orSkip(opened(), 'needs-stack'), explain }),
  ];
  return (await Promise.all(results)).flat();
}

const again = 'Run doctor again; if this remains, investigate it';
const unknownOperation = /^(UnknownOperation|InvalidAction|UnsupportedOperation|NotImplemented)/;

/** Says what the error of a check means; undefined for an unexpected error. */
const explaining =
  (target: Target, baseUrl?: string) =>
  (error: unknown): Found | undefined => {
    const denial = denialOf(error);
    if (denial) return [denial.facts.action ? 'denied' : 'denied-somehow', denial.facts];
    if (error instanceof StateError && error.code === 'state-damaged') return ['needs-state'];
    const endpoint = process.env.AWS_ENDPOINT_URL;
    if (error instanceof Error && unknownOperation.test(error.name) && endpoint)
      return ['unknown-call', { endpoint }];
    const known = explained(error, target, baseUrl);
    if (!(known instanceof CommandError)) return undefined;
    return { result: 'fault', says: known.says, mend: known.mend ?? again };
  };

const tones = { ok: 'green', warning: 'yellow', fault: 'red', skipped: 'dim' } as const;

function doctorLines(checks: readonly CheckResult[]): Line[] {
  const lines = checks.flatMap(({ name, result, says, mends }): Line[] => [
    { tone: tones[result], text: result.padEnd('warning'.length), rest: `  ${name}: ${says}` },
    ...mends.map((mend) => `           ${mend}`),
  ]);
  const counts = (['fault', 'warning', 'skipped', 'ok'] as const).flatMap((result) => {
    const { length } = checks.filter((check) => check.result === result);
    return length === 0 ? [] : `${length} ${result}`;
  });
  return [...lines, counts.join(', ')];
}

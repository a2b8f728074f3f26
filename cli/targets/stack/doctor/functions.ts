import {
  type EventSourceMappingConfiguration,
  GetFunctionConcurrencyCommand,
  GetFunctionConfigurationCommand,
  ListEventSourceMappingsCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-lambda';
import { GetScheduleCommand, type GetScheduleCommandOutput } from '@aws-sdk/client-scheduler';
import { check, type Finding, fault, ok, together } from '../../../../operations/doctor.ts';
import { settingsKey } from '../../../../shared/contract/environment.ts';
import type { StackBridge } from '../../../bridge/open-stack.ts';
import { makeAgain } from '../../../shared/explain-aws.ts';
import type { Facts } from './facts.ts';

/** A deployment only compares templates: with the same template, it does not undo changes that were made by hand. */
const redeploy =
  'Deploy with another maxRequestsPerSecond, then with the right one: `npx cdk deploy -c maxRequestsPerSecond=N` and the ' +
  'settings that the stack has';
const recreate =
  'No deployment makes again what was deleted by hand: destroy the stack and deploy it again, as in ' +
  'docs/operate/deploy.md#deploy-again-after-a-destroy';

export const functionChecks = ({ clients, bridge }: Facts) => [
  check('functions', async () => {
    const { outputs, clients: of } = await bridge();
    const names = [
      outputs.drainFunctionName,
      outputs.fanOutFunctionName,
      outputs.refreshTokenFunctionName,
      outputs.connectFunctionName,
    ];
    const found = await Promise.all(names.map((name) => functionFinding(of.lambda, name)));
    const different = new Set(found.map(({ settings }) => settings));
    const differing =
      different.size > 1 ? [fault(`the functions have different ${settingsKey}`, redeploy)] : [];
    return together(`${names.length} can run`, [...found.map(({ finding }) => finding), ...differing]);
  }),
  check('schedules', async () => {
    const { outputs } = await bridge();
    const { drainScheduleName, refreshTokenScheduleName } = outputs;
    const pairs = [
      [drainScheduleName, outputs.drainFunctionName],
      [refreshTokenScheduleName, outputs.refreshTokenFunctionName],
    ] as const;
    const findings = pairs.map(([Name, functionName]) =>
      clients.scheduler.send(new GetScheduleCommand({ Name })).then(
        (schedule) => scheduleFinding(schedule, Name, functionName),
        (error: Error) => {
          if (error.name !== 'ResourceNotFoundException') throw error;
          return fault(`schedule ${Name} is gone: ${functionName} is not invoked`, makeAgain);
        },
      ),
    );
    return together(`${pairs.length} are enabled`, await Promise.all(findings));
  }),
  check('event-source-mapping', async () => {
    const { outputs, clients: of } = await bridge();
    const asked = new ListEventSourceMappingsCommand({ FunctionName: outputs.fanOutFunctionName });
    const { EventSourceMappings = [] } = await of.lambda.send(asked);
    const queueName = outputs.queueUrl.split('/').at(-1);
    const mapping = EventSourceMappings.find(
      ({ EventSourceArn }) => EventSourceArn?.split(':').at(-1) === queueName,
    );
    return mappingFinding(mapping, outputs);
  }),
];

async function functionFinding(lambda: StackBridge['clients']['lambda'], FunctionName: string) {
  try {
    const [{ State, LastUpdateStatus, Environment }, { ReservedConcurrentExecutions }] = await Promise.all([
      lambda.send(new GetFunctionConfigurationCommand({ FunctionName })),
      lambda.send(new GetFunctionConcurrencyCommand({ FunctionName })),
    ]);
    const settings = Environment?.Variables?.[settingsKey];
    if (State === 'Failed' || LastUpdateStatus === 'Failed') {
      return {
        settings,
        finding: fault(
          `function ${FunctionName} is not usable (${State}, last update ${LastUpdateStatus})`,
          redeploy,
        ),
      };
    }
    if (ReservedConcurrentExecutions === 0) {
      return {
        settings,
        finding: fault(
          `function ${FunctionName} may not run: its reserved concurrency is 0`,
          `\`aws lambda delete-function-concurrency --function-name ${FunctionName}\``,
        ),
      };
    }
    return { settings, finding: ok(FunctionName) };
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    return { settings: undefined, finding: fault(`function ${FunctionName} is gone`, recreate) };
  }
}

function scheduleFinding(schedule: GetScheduleCommandOutput, name: string, functionName: string): Finding {
  const { State, ScheduleExpression, FlexibleTimeWindow, Target, Description } = schedule;
  const Arn = Target?.Arn ?? '';
  const wanted = { ...Target, Arn: Arn.split(':').with(6, functionName).join(':') };
  // The call replaces the whole schedule, so all of its properties are repeated.
  const mend =
    `\`aws scheduler update-schedule --name ${name} --state ENABLED --schedule-expression '${ScheduleExpression}' ` +
    `${Description === undefined ? '' : `--description '${Description}' `}--flexible-time-window Mode=${FlexibleTimeWindow?.Mode} --target '${JSON.stringify(wanted)}'\``;
  if (State !== 'ENABLED') return fault(`schedule ${name} is ${State}: ${functionName} is not invoked`, mend);
  if (Arn === wanted.Arn) return ok(name);
  return fault(`schedule ${name} invokes ${Arn}, not ${functionName}`, mend);
}

function mappingFinding(
  mapping: EventSourceMappingConfiguration | undefined,
  { fanOutFunctionName, queueUrl }: StackBridge['outputs'],
): Finding {
  if (!mapping) {
    return fault(`nothing hands the messages of ${queueUrl} to ${fanOutFunctionName}`, makeAgain);
  }
  const { UUID, State, FunctionResponseTypes = [], LastProcessingResult = '' } = mapping;
  const update = `aws lambda update-event-source-mapping --uuid ${UUID}`;
  if (State === 'Disabled' || State === 'Disabling') {
    return fault(`the event source mapping is ${State}: fan-out gets no messages`, `\`${update} --enabled\``);
  }
  if (!FunctionResponseTypes.includes('ReportBatchItemFailures')) {
    return fault(
      'the event source mapping does not report failures of single messages: those that failed would be deleted',
      `\`${update} --function-response-types ReportBatchItemFailures\``,
    );
  }
  if (LastProcessingResult.startsWith('PROBLEM')) {
    return fault(`the event source mapping does not get through: ${LastProcessingResult}`, redeploy);
  }
  return ok(`it is ${State}`);
}

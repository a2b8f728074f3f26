/** The resources of the stack with a monthly price, from the template that `cdk deploy` would send. */
import { functions, synthesized } from '../../../test/helpers/synthesized.ts';
import type { Usage } from './bill.ts';

export const minutesAMonth = 30 * 24 * 60;

export interface StackFacts {
  /** Secrets, alarms and keys of the stack itself, without any partner account. */
  readonly monthly: Usage;
  readonly memoryMb: Readonly<Record<keyof typeof functions, number>>;
  /** Invocations per month, by schedule. */
  readonly scheduled: Readonly<Record<'drain' | 'refreshToken', number>>;
  readonly isTraced: boolean;
}

export function stackFacts(settings: Readonly<Record<string, unknown>> = {}): StackFacts {
  const { ofType, one } = synthesized(settings);
  const lambda = (name: keyof typeof functions) => one('AWS::Lambda::Function', functions[name]).Properties;
  const perMonth = (prefix: string): number => {
    const expression: string = one('AWS::Scheduler::Schedule', prefix).Properties.ScheduleExpression;
    const [, minutes] = /^rate\((\d+) minutes?\)$/.exec(expression) ?? [];
    if (!minutes) throw new Error(`no rate in minutes: ${expression}`);
    return minutesAMonth / Number(minutes);
  };
  return {
    monthly: {
      secretMonth: ofType('AWS::SecretsManager::Secret').length,
      alarmMonth: ofType('AWS::CloudWatch::Alarm').length,
      dashboardMonth: ofType('AWS::CloudWatch::Dashboard').length,
      kmsKeyMonth: ofType('AWS::KMS::Key').length,
    },
    memoryMb: {
      drain: lambda('drain').MemorySize,
      fanOut: lambda('fanOut').MemorySize,
      refreshToken: lambda('refreshToken').MemorySize,
      connect: lambda('connect').MemorySize,
    },
    scheduled: { drain: perMonth('Drain'), refreshToken: perMonth('RefreshToken') },
    isTraced: lambda('drain').TracingConfig?.Mode === 'Active',
  };
}

/** Converts a call of the SDK into the requests that IAM decides about. */
import { storeKeys } from '../../../shared/contract/names.ts';
import type { AwsCall, Service } from '../../helpers/aws/wire.ts';

export type Context = Readonly<Record<string, string | readonly string[]>>;

/** A request that IAM decides about. */
export interface IamRequest {
  /** Such as `sqs:SendMessage`. */
  readonly action: string;
  readonly service: Service;
  /** The resource as the call names it: name or URL, no ARN. */
  readonly resource: string;
  /** Condition keys that the call itself decides. */
  readonly context: Context;
}

/** Condition keys that are in a request where the call has what they tell; those that any policy here may use. */
export const knownConditionKeys = [
  'dynamodb:LeadingKeys',
  'events:source',
  'lambda:SourceFunctionArn',
  'events:detail-type',
  'secretsmanager:BlockPublicPolicy',
  'secretsmanager:ForceDeleteWithoutRecovery',
  'secretsmanager:RecoveryWindowInDays',
] as const;

// biome-ignore lint/suspicious/noExplicitAny: any shape of the API, taken apart below.
type Input = Readonly<Record<string, any>>;

const { partitionKey } = storeKeys;

/** @throws {Error} for a call whose permission is not known here */
export function requestsOf({ service, operation, input }: AwsCall): IamRequest[] {
  const request = (action: string, resource: unknown, context: Context = {}): IamRequest => {
    if (typeof resource !== 'string' || resource === '') throw new Error(`${operation} names no resource`);
    return { action: `${service}:${action}`, service, resource, context };
  };
  switch (service) {
    case 'cloudformation':
      return [request(operation, input.StackName)];
    case 'dynamodb':
      return [
        request(operation, input.TableName, { 'dynamodb:LeadingKeys': [leadingKey(operation, input)] }),
      ];
    case 'sqs':
      // A batch needs the permission of the single action.
      return [request(operation.replace(/Batch$/, ''), input.QueueUrl)];
    case 'events':
      return (input.Entries as readonly Record<string, string>[]).map(
        ({ EventBusName, Source = '', DetailType = '' }) =>
          request(operation, EventBusName, { 'events:source': Source, 'events:detail-type': DetailType }),
      );
    case 'lambda':
      return [request(operation === 'Invoke' ? 'InvokeFunction' : operation, input.FunctionName)];
    case 'secretsmanager':
      return [
        request(operation, input.SecretId ?? input.Name, secretContext(input)),
        // A secret that is created with tags.
        ...([input.Tags ?? []].flat().length > 0 ? [request('TagResource', input.Name)] : []),
      ];
  }
}

/** @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html */
function leadingKey(operation: string, input: Input): string {
  if (['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'].includes(operation))
    return (input.Key ?? input.Item)[partitionKey].S;
  // Of a key condition of the form `#pk = :value …`.
  const [, name = '', value = ''] =
    /^\(?\s*(#?\w+)\s*=\s*(:\w+)/.exec(input.KeyConditionExpression ?? '') ?? [];
  const attribute = input.ExpressionAttributeNames?.[name] ?? name;
  const key = input.ExpressionAttributeValues?.[value]?.S;
  if (operation === 'Query' && attribute === partitionKey && key) return key;
  throw new Error(`dynamodb ${operation}: which permission it needs is not known here`);
}

const secretContext = (input: Input): Context =>
  Object.fromEntries(
    ['BlockPublicPolicy', 'ForceDeleteWithoutRecovery', 'RecoveryWindowInDays']
      .filter((key) => input[key] !== undefined)
      .map((key) => [`secretsmanager:${key}`, String(input[key])]),
  );

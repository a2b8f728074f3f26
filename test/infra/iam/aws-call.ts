/** Converts a call of the SDK into the request that IAM decides about. */
import { storeKeys } from '../../../shared/contract/names.ts';
import type { AwsCall, Service } from '../../helpers/aws/recording-proxy.ts';

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

type Attributes = Readonly<Record<string, { readonly S?: string }>>;
// biome-ignore lint/suspicious/noExplicitAny: any shape of the API, taken apart below.
type Input = Readonly<Record<string, any>>;

const { partitionKey } = storeKeys;

/**
 * One call may need several permissions: of an operation over several tables or items, each.
 *
 * @throws {Error} for a call whose permission is not known here
 */
export function requestsOf({ service, operation, input }: AwsCall): IamRequest[] {
  const request = (action: string, resource: unknown, context: Context = {}): IamRequest => {
    if (typeof resource !== 'string' || resource === '') throw new Error(`${operation} names no resource`);
    return { action: `${service}:${action}`, service, resource, context };
  };
  switch (service) {
    case 'cloudformation':
      return [request(operation, input.StackName)];
    case 'dynamodb':
      return dynamoDbRequests(operation, input, request);
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
      return [request(operation, input.SecretId ?? input.Name, secretContext(input))];
  }
}

type MakeRequest = (action: string, resource: unknown, context?: Context) => IamRequest;

/** @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html */
function dynamoDbRequests(operation: string, input: Input, request: MakeRequest): IamRequest[] {
  const leading = (...keys: (Attributes | undefined)[]): Context => ({
    'dynamodb:LeadingKeys': [...new Set(keys.map((key) => key?.[partitionKey]?.S ?? ''))],
  });
  switch (operation) {
    case 'GetItem':
    case 'PutItem':
    case 'UpdateItem':
    case 'DeleteItem':
      return [request(operation, input.TableName, leading(input.Key ?? input.Item))];
    case 'Query':
      return [request(operation, input.TableName, leading(queriedKey(input)))];
    case 'BatchWriteItem':
      return Object.entries<readonly Input[]>(input.RequestItems).map(([table, writes]) =>
        request(
          operation,
          table,
          leading(...writes.map(({ DeleteRequest, PutRequest }) => DeleteRequest?.Key ?? PutRequest?.Item)),
        ),
      );
    default:
      throw new Error(`dynamodb ${operation}: which permission it needs is not known here`);
  }
}

/** The partition key that a key condition of the form `#pk = :value …` asks for. */
function queriedKey(input: Input): Attributes {
  const [, name = '', value = ''] =
    /^\(?\s*(#?\w+)\s*=\s*(:\w+)/.exec(input.KeyConditionExpression ?? '') ?? [];
  const attribute = (input.ExpressionAttributeNames as Record<string, string> | undefined)?.[name] ?? name;
  const key = (input.ExpressionAttributeValues as Attributes | undefined)?.[value];
  if (attribute !== partitionKey || !key)
    throw new Error('a query whose partition key is not understood here');
  return { [partitionKey]: key };
}

const secretContext = (input: Readonly<Record<string, unknown>>): Context =>
  Object.fromEntries(
    ['BlockPublicPolicy', 'ForceDeleteWithoutRecovery', 'RecoveryWindowInDays']
      .filter((key) => input[key] !== undefined)
      .map((key) => [`secretsmanager:${key}`, String(input[key])]),
  );

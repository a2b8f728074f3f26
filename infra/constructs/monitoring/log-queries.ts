import { type ILogGroup, QueryDefinition, QueryString } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';

export interface LogQueriesProps {
  /** Of the bridge: the folder that the queries are in. */
  readonly bridge: string;
  /** Of all functions. */
  readonly logGroups: readonly ILogGroup[];
}

const fields = [
  '@timestamp',
  'level',
  'message',
  'partnerAccount',
  'correlationId',
  'fault',
  'reason',
  '@message',
];
const latest = { sort: '@timestamp desc', limit: 200 };

/**
 * Queries kept in CloudWatch Logs Insights, for what is asked most. The word in capitals is replaced by whoever runs one.
 * Saving them costs nothing; running one, what it reads.
 */
const queries: Readonly<Record<string, ConstructorParameters<typeof QueryString>[0]>> = {
  // In the line of a batch the adverts are in lists, by what became of them.
  'one advert': { fields, filterStatements: [`@message like '"ADVERT_ID"'`], ...latest },
  'one page': { fields, filterStatements: [`@message like '"CORRELATION_ID"'`], ...latest },
  'one partner account': { fields, filterStatements: [`@message like '"partnerAccount":"NAME"'`], ...latest },
  'faults by kind': {
    filterStatements: ['ispresent(fault)'],
    statsStatements: [
      'count(*) as times, min(@timestamp) as first, max(@timestamp) as last by fault, level, partnerAccount',
    ],
    sort: 'times desc',
  },
};

export class LogQueries extends Construct {
  constructor(scope: Construct, id: string, { bridge, logGroups }: LogQueriesProps) {
    super(scope, id);
    for (const [name, query] of Object.entries(queries)) {
      new QueryDefinition(this, name, {
        queryDefinitionName: `${bridge}/${name}`,
        queryString: new QueryString(query),
        logGroups: [...logGroups],
      });
    }
  }
}

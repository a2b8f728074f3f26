import { type ILogGroup, QueryDefinition, QueryString } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';

export interface LogQueriesProps {
  /** Name of the bridge, and of the folder with the queries. */
  readonly bridge: string;
  /** Log groups of all functions. */
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
 * Saved queries in CloudWatch Logs Insights for the most frequent questions. Replace the word in capitals before you
 * run one. Saving a query is free; running it costs money for the data that it reads.
 */
const queries: Readonly<Record<string, ConstructorParameters<typeof QueryString>[0]>> = {
  // The log line of a batch lists its adverts by outcome.
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

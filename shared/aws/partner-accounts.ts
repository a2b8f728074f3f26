import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { checked, readRows } from '../contract/checks.ts';
import { accountPlace, partnerAccountRow } from '../contract/rows.ts';
import { feedStateTable } from '../contract/tables.ts';
import { firstNumberOf, type PartnerAccount } from '../domain/partner-account.ts';
import type { PartnerAccounts } from '../ports/partner-accounts.ts';
import { hasVersion, putItem, readItem, type Table } from './dynamodb/conditional-write.ts';
import { queryAll } from './dynamodb/query.ts';
import { fromItem, type Item, numberIn } from './dynamodb/values.ts';

const { partitionKey: pk, sortKey: sk } = feedStateTable;

const keyOf = (name: string): Item => ({ [pk]: { S: 'account' }, [sk]: { S: name } });

/** Partner accounts in the feed-state table. Each row is written completely, with a condition on its version. */
export function createPartnerAccounts(table: Table): PartnerAccounts {
  return {
    async list(onUnreadable) {
      return readRows(await queryAll(table, 'account'), accountOf, onUnreadable);
    },

    async read(name) {
      const item = await readItem(table, keyOf(name));
      return item && { value: accountOf(item), version: numberIn(item, 'version') };
    },

    async write({ name, ...fields }, expected) {
      const item = { ...fields, version: Math.max(expected, firstNumberOf(fields.generation)) + 1 };
      return (await putItem(table, keyOf(name), item, hasVersion(expected))).written;
    },

    async remove(name) {
      await table.client.send(new DeleteItemCommand({ TableName: table.name, Key: keyOf(name) }));
    },
  };
}

/** @throws {ShapeError} */
function accountOf(item: Item): PartnerAccount {
  const place = accountPlace(item[sk]?.S);
  const { [pk]: _kind, [sk]: name, version: _version, writeMark: _mark, ...fields } = fromItem(item, place);
  return checked(partnerAccountRow, { ...fields, name }, place);
}

import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { feedStateTable, parkedMarks, parkedMessagesOf } from '../../contract/tables.ts';
import type { Table } from '../dynamodb/conditional-write.ts';
import { putAll } from '../dynamodb/query.ts';
import type { Item } from '../dynamodb/values.ts';
import type { ParkingLot } from './parking.ts';

const { partitionKey: pk, sortKey: sk } = feedStateTable;

export const markKey = (partnerAccount: string): Item => ({
  [pk]: { S: parkedMarks },
  [sk]: { S: partnerAccount },
});
export const messageKey = (partnerAccount: string, place: string): Item => ({
  [pk]: { S: parkedMessagesOf(partnerAccount) },
  [sk]: { S: place },
});

/** What fan-out does of {@link createParkingLot}: apart, for its bundle does not need the rest. */
export function createParkingEntrance(table: Table): Pick<ParkingLot, 'mark' | 'put'> {
  return {
    put: (parked) =>
      putAll(
        table,
        parked.map(({ place, message }) => ({
          ...messageKey(message.partnerAccount, place),
          body: { S: JSON.stringify(message) },
        })),
      ),

    async mark(partnerAccount, atMs) {
      const Item = { ...markKey(partnerAccount), markedAt: { N: String(atMs) } };
      await table.client.send(new PutItemCommand({ TableName: table.name, Item }));
    },
  };
}

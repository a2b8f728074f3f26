/**
 * Stands in for `advert-bridge/subscriber` until that is there: same names, same arguments, less checking.
 */
interface AdvertEvent {
  readonly 'detail-type': string;
  readonly detail: {
    readonly metadata: {
      readonly partnerAccount: string;
      readonly generation: number;
      readonly sequence: number;
    };
    readonly data: { readonly advertId: string; readonly status: string | null };
  };
}

export function parseSqsRecord({ body }: { readonly body: string }): AdvertEvent {
  const event = JSON.parse(body) as AdvertEvent & { readonly source?: string };
  if (event.source !== 'advert-bridge') throw new Error('not an event of the advert bridge');
  return event;
}

export const isAboutAdvert = (event: AdvertEvent): boolean => event.detail.data.advertId !== undefined;

export const advertKeyOf = ({ detail: { metadata, data } }: AdvertEvent): string =>
  `${metadata.partnerAccount}/${data.advertId}`;

/** Holds for an item that is not there, and for one whose position is less than the event's. */
export const onlyIfNewerItem = ({ detail: { metadata } }: AdvertEvent) => ({
  ConditionExpression:
    '(attribute_not_exists(#advertGeneration) OR #advertGeneration < :advertGeneration OR (#advertGeneration = :advertGeneration AND #advertSequence < :advertSequence))',
  setPosition: '#advertGeneration = :advertGeneration, #advertSequence = :advertSequence',
  ExpressionAttributeNames: {
    '#advertGeneration': 'advertGeneration',
    '#advertSequence': 'advertSequence',
  },
  ExpressionAttributeValues: {
    ':advertGeneration': { N: String(metadata.generation) },
    ':advertSequence': { N: String(metadata.sequence) },
  },
});

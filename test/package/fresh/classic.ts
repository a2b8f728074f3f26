/** Compiled in a CommonJS project with classic module resolution (`node10`), and run there. */

import { AdvertSubscription, type AdvertSubscriptionProps } from 'advert-bridge-kit/cdk';
import { type AdvertEvent, envelopes } from 'advert-bridge-kit/contract';
import { type EventHandlerOptions, parseBody } from 'advert-bridge-kit/subscriber';
import { anAdvertStatusChanged } from 'advert-bridge-kit/testing';

const event: AdvertEvent = anAdvertStatusChanged({ advertId: '7', status: 'sold' });
const options: Partial<EventHandlerOptions> = { maxConcurrentAdverts: 1 };
const props: Partial<AdvertSubscriptionProps> = { advertIds: [event.detail.data.advertId] };
const { resources } = parseBody(JSON.stringify(event));
console.log(Object.keys(envelopes).length, AdvertSubscription.name, resources, options, props);

/**
 * The test vectors for subscribers in any language: sequences of messages, with the required outcome of each. The
 * expected outcomes come from the oracle below, which knows all positions at once, and from how each message was
 * created; never from the kit, which is tested with them.
 */

import {
  anAdvertStatusChanged,
  anAdvertUnavailable,
  aPartnerAuthorizationRequired,
} from '../../kits/typescript/testing/index.ts';
import { seededRandom } from '../../kits/typescript/testing/player.ts';
import { stackName } from '../../shared/contract/names.ts';

type Json = Record<string, unknown>;

/** `[generation, sequence]`. */
type Place = readonly [number, number];

/** A message and its known meaning: the advert and the place of its event, or the code with which it is rejected. */
interface Message {
  readonly body: Json | string;
  readonly about?: { readonly advert: string; readonly place: Place };
  readonly refused?: string;
}

interface Step {
  readonly message: string;
  readonly outcome: 'apply' | 'gap' | 'duplicate' | 'stale' | 'refused';
  readonly missing?: number;
  readonly code?: string;
}

const about =
  'Each vector is a list of messages in the order in which a new subscriber receives them. `outcome` says what the subscriber does with each message: `apply`, `gap` (apply it; `missing` events before it have not arrived), `duplicate`, `stale`, or `refused` with a `code`. `applied` is the position of each advert at the end. A message is the body of an SQS message: an object stands for its JSON text, and a string is the body itself. See docs/subscribe/not-typescript.md.';

const g1 = 999_999_999; // As text, it would sort after the others.
const g2 = 1_763_640_000;
const g3 = 1_763_640_001;

function vectorsDocument(): Json {
  const messages = new Map<string, Message>();
  const vectors: { name: string; steps: Step[]; applied: Json }[] = [];
  const vector = (name: string, ids: readonly string[]) =>
    vectors.push({ name, ...expected(ids.map((id) => [id, messages.get(id) as Message])) });

  for (const advert of ['main/1', 'main/12345678901234567890', 'other.account/1', 'Shop/main/1']) {
    for (const generation of [g1, g2, g3]) {
      for (const sequence of [1, 2, 3, 5, 9, 10, 1_000_000]) {
        messages.set(`${advert}@${generation}.${sequence}`, advertMessage(advert, [generation, sequence]));
      }
    }
  }
  const plain = [...messages.keys()];
  for (const [id, message] of oddMessages()) messages.set(id, message);
  const odd = [...messages.keys()].filter((id) => !plain.includes(id));

  // Every sequence of three out of seven places, with repetition: all ways in which two or three messages can affect
  // one another.
  const places = [`${g1}.2`, `${g2}.1`, `${g2}.2`, `${g2}.5`, `${g2}.10`, `${g3}.1`, `${g3}.3`];
  for (const a of places) {
    for (const b of places) {
      for (const c of places)
        vector(
          `three of one advert: ${a} ${b} ${c}`,
          [a, b, c].map((place) => `main/1@${place}`),
        );
    }
  }
  // The same advert on two bridges, and an event from before bridges named themselves.
  vector('two bridges with one partner account', [
    `main/1@${g2}.5`,
    `Shop/main/1@${g1}.2`,
    `main/1@${g2}.2`,
    `Shop/main/1@${g1}.3`,
  ]);
  // Each odd message between two plain ones.
  for (const id of odd) {
    vector(`between two events: ${id}`, [`main/1@${g2}.1`, id, `main/1@${g2}.3`]);
  }
  const random = seededRandom(20_261_120);
  const oneOf = (list: readonly string[]) => list[Math.floor(random() * list.length)] as string;
  for (let index = 1; index <= 200; index += 1) {
    const length = 4 + Math.floor(random() * 9);
    const from = index % 2 === 0 ? plain : plain.filter((id) => id.startsWith('main/1@'));
    vector(
      `any order ${index}`,
      Array.from({ length }, () => oneOf(random() < 0.15 ? odd : from)),
    );
  }
  return {
    about,
    messages: Object.fromEntries([...messages].map(([id, { body }]) => [id, body])),
    vectors,
  };
}

/**
 * The oracle: looks up an event's place among all earlier events of its advert, instead of tracking state step by
 * step.
 */
function expected(sequence: readonly (readonly [string, Message])[]): { steps: Step[]; applied: Json } {
  const steps = sequence.map(([id, { about: what, refused }], index): Step => {
    if (refused) return { message: id, outcome: 'refused', code: refused };
    if (!what) return { message: id, outcome: 'apply' };
    const earlier = placesOf(sequence.slice(0, index), what.advert);
    const [generation, number] = what.place;
    if (earlier.length === 0) return { message: id, outcome: 'apply' };
    const newer = earlier.filter(([g, s]) => g > generation || (g === generation && s > number));
    if (newer.length > 0) return { message: id, outcome: 'stale' };
    const numbers = new Set(earlier.filter(([g]) => g === generation).map(([, s]) => s));
    if (numbers.has(number)) return { message: id, outcome: 'duplicate' };
    const missing = number - 1 - Math.max(0, ...numbers);
    return missing === 0 ? { message: id, outcome: 'apply' } : { message: id, outcome: 'gap', missing };
  });
  const adverts = new Set(sequence.flatMap(([, message]) => message.about?.advert ?? []));
  const applied = [...adverts].sort().map((advert) => {
    const [generation, number] = placesOf(sequence, advert).sort(
      (a, b) => b[0] - a[0] || b[1] - a[1],
    )[0] as Place;
    return [advert, { generation, sequence: number }];
  });
  return { steps, applied: Object.fromEntries(applied) };
}

const placesOf = (sequence: readonly (readonly [string, Message])[], advert: string): Place[] =>
  sequence.flatMap(([, { about: what }]) => (what?.advert === advert ? [what.place] : []));

function advertMessage(advert: string, [generation, sequence]: Place): Message {
  const [advertId = '', partnerAccount = '', bridge = stackName] = advert.split('/').reverse();
  const fields = {
    bridge,
    partnerAccount,
    advertId,
    generation,
    sequence,
    observedAt: '2026-11-20T12:00:00.123Z',
  };
  // Some are unavailable, because these events belong to the same history.
  const body = sequence === 3 ? anAdvertUnavailable(fields) : anAdvertStatusChanged(fields);
  return { body, about: { advert, place: [generation, sequence] } };
}

/** Messages with a peculiarity that a reader must accept or reject. */
function oddMessages(): [string, Message][] {
  const accepted = (name: string, change: (event: Json) => void): [string, Message] => {
    const { body, about } = advertMessage('main/1', [g2, 2]);
    return [
      `accepted: ${name}`,
      { body: changed(body as Json, change), about: about as Message['about'] & {} },
    ];
  };
  const refused = (name: string, code: string, change: (event: Json) => void): [string, Message] => {
    const { body } = advertMessage('main/1', [g2, 2]);
    return [`refused: ${name}`, { body: changed(body as Json, change), refused: code }];
  };
  const text = (name: string, body: string): [string, Message] => [
    `refused: ${name}`,
    { body, refused: 'not-an-event' },
  ];
  const notAnEvent = (name: string, change: (event: Json) => void) => refused(name, 'not-an-event', change);
  return [
    accepted('unknown fields', (event) => {
      event['replay-name'] = 'replay-1';
      dig(event, 'detail').added = { deep: [1] };
      dig(event, 'detail.data').price = 12.5;
    }),
    accepted('no bridge, as before schema version 1.1', remove('detail.metadata.bridge')),
    accepted('a newer minor version', set('detail.metadata.schemaVersion', '1.17')),
    accepted('an unknown status', set('detail.data.status', 'in review 🐫')),
    accepted('a status of 256 characters', set('detail.data.status', 'x'.repeat(256))),
    accepted('the cause of a repair', set('detail.metadata.cause', 'audit')),
    accepted('an unknown cause', set('detail.metadata.cause', 'audit-2030')),
    accepted('times without fractions', set('detail.metadata.observedAt', '2026-11-20T12:00:00Z')),
    accepted('no envelope but source, detail-type, time, resources and detail', (event) => {
      for (const name of ['version', 'id', 'account', 'region']) delete event[name];
    }),
    accepted('other resources', set('resources', [])),
    ['accepted: an authorization event', { body: { ...aPartnerAuthorizationRequired() } }],
    refused('major version 2', 'unsupported-version', set('detail.metadata.schemaVersion', '2.0')),
    refused('major version 10', 'unsupported-version', set('detail.metadata.schemaVersion', '10.1')),
    refused('major version 0', 'unsupported-version', set('detail.metadata.schemaVersion', '0.9')),
    refused('major version 2 in another shape', 'unsupported-version', (event) => {
      event.detail = { metadata: { schemaVersion: '2.0' } };
    }),
    refused('an unknown detail type', 'unknown-detail-type', set('detail-type', 'AdvertArchived')),
    refused('a detail type of the language', 'unknown-detail-type', set('detail-type', 'toString')),
    text('no JSON', 'nonsense'),
    text('empty', ''),
    text('cut off', '{"source":'),
    text('a list', '[]'),
    text('null', 'null'),
    notAnEvent('another source', set('source', 'aws.s3')),
    notAnEvent('no detail', remove('detail')),
    notAnEvent('detail as text', set('detail', '{}')),
    notAnEvent('no schema version', remove('detail.metadata.schemaVersion')),
    notAnEvent('schema version as a number', set('detail.metadata.schemaVersion', 1)),
    notAnEvent('a schema version that is none', set('detail.metadata.schemaVersion', '1')),
    notAnEvent('no sequence', remove('detail.metadata.sequence')),
    notAnEvent('sequence as text', set('detail.metadata.sequence', '2')),
    notAnEvent('sequence 0', set('detail.metadata.sequence', 0)),
    notAnEvent('sequence 1.5', set('detail.metadata.sequence', 1.5)),
    notAnEvent('sequence true', set('detail.metadata.sequence', true)),
    notAnEvent('no generation', remove('detail.metadata.generation')),
    notAnEvent('generation 0', set('detail.metadata.generation', 0)),
    notAnEvent('no partner account', remove('detail.metadata.partnerAccount')),
    notAnEvent('a partner account with a slash', set('detail.metadata.partnerAccount', 'a/b')),
    notAnEvent('a bridge with a slash', set('detail.metadata.bridge', 'a/b')),
    notAnEvent('no event ID', remove('detail.metadata.eventId')),
    notAnEvent('an empty cause', set('detail.metadata.cause', '')),
    notAnEvent('a time that is none', set('detail.metadata.observedAt', 'yesterday')),
    notAnEvent('a time in another zone', set('detail.metadata.observedAt', '2026-11-20T12:00:00+01:00')),
    notAnEvent('no advert ID', remove('detail.data.advertId')),
    notAnEvent('an advert ID that is a path', set('detail.data.advertId', '../x')),
    notAnEvent('an advert ID of 21 digits', set('detail.data.advertId', '1'.repeat(21))),
    notAnEvent('an advert ID as a number', set('detail.data.advertId', 1)),
    notAnEvent('an advert ID in other digits', set('detail.data.advertId', '١٢')),
    notAnEvent('an advert ID with a line break at its end', set('detail.data.advertId', '12\n')),
    notAnEvent('status null', set('detail.data.status', null)),
    notAnEvent('an empty status', set('detail.data.status', '')),
    notAnEvent('a status of 257 characters', set('detail.data.status', 'x'.repeat(257))),
    notAnEvent('no previous status', remove('detail.data.previousStatus')),
    notAnEvent('an unavailable advert with a status', set('detail-type', 'AdvertUnavailable')),
  ];
}

function changed(event: Json, change: (event: Json) => void): Json {
  const copy = structuredClone(event);
  change(copy);
  return copy;
}

const dig = (event: Json, place: string): Json =>
  place.split('.').reduce((inner, name) => inner[name] as Json, event);
const lastOf = (event: Json, place: string): [Json, string] => {
  const cut = place.lastIndexOf('.');
  return cut < 0 ? [event, place] : [dig(event, place.slice(0, cut)), place.slice(cut + 1)];
};
const set = (place: string, value: unknown) => (event: Json) => {
  const [holder, name] = lastOf(event, place);
  holder[name] = value;
};
const remove = (place: string) => (event: Json) => {
  const [holder, name] = lastOf(event, place);
  delete holder[name];
};

/** One message or vector per line, so that differences are readable. */
export function vectorsText(): string {
  const {
    about: words,
    messages,
    vectors,
  } = vectorsDocument() as {
    about: string;
    messages: Json;
    vectors: unknown[];
  };
  const lines = (list: readonly string[]) => list.map((line) => `    ${line}`).join(',\n');
  const messageLines = Object.entries(messages).map(
    ([id, body]) => `${JSON.stringify(id)}: ${JSON.stringify(body)}`,
  );
  return [
    '{',
    `  "about": ${JSON.stringify(words)},`,
    '  "messages": {',
    lines(messageLines),
    '  },',
    '  "vectors": [',
    lines(vectors.map((each) => JSON.stringify(each))),
    '  ]',
    '}',
    '',
  ].join('\n');
}

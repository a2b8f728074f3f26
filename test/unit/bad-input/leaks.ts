/** Looks for secrets in whatever was printed, published or stored. */
export interface Place {
  /** For the message: `standard error of run`. */
  readonly where: string;
  readonly text: string;
}

/** As a secret may stand in a text: as it is, in a URL, in a form, in JSON, in base64 wherever it begins. */
export function formsOf(secret: string): string[] {
  const inUrl = encodeURIComponent(secret);
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    ...[0, 1, 2].flatMap((offset) => base64From(secret, offset)),
  ];
}

/** The part of its base64 that does not depend on the surrounding text. */
function base64From(secret: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const first = offset === 0 ? 0 : 4;
  const whole = bytes.length - (bytes.length % 3);
  const text = bytes.subarray(0, whole).toString('base64').slice(first);
  return text.length < 8 ? [] : [text, text.replaceAll('+', '-').replaceAll('/', '_')];
}

/** Each found secret once, as `where: which form of which secret`. */
export function leaksIn(places: readonly Place[], secrets: readonly string[]): string[] {
  const wanted = secrets.flatMap((secret, index) =>
    formsOf(secret).map((form, kind) => ({ form, name: `secret ${index}, form ${kind}` })),
  );
  return places.flatMap(({ where, text }) =>
    wanted
      .filter(({ form }) => text.includes(form))
      .map(({ form, name }) => {
        const at = text.indexOf(form);
        return `${where}: ${name} after "${text.slice(Math.max(0, at - 60), at)}"`;
      }),
  );
}

/** Answers that repeat what was sent, one for each way in which a service might. */
export const echoesOf = (secret: string): string[] => [
  `you sent ${secret}`,
  `you sent ${encodeURIComponent(secret)} (${JSON.stringify(secret)})`,
  `Basic ${Buffer.from(secret).toString('base64')} is unknown`,
];

import { DescribeEventBusCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { Deliver, Failure } from '../../../embedded/webhooks/request.ts';
import {
  customEventBus,
  customEventBusClient,
  describeCustomBus,
} from '../../../shared/aws/custom-event-bus.ts';
import {
  classicEventBus,
  createEventPublisher,
  RefusedEventError,
} from '../../../shared/aws/event-publisher.ts';
import { handlerOptions } from '../../../shared/aws/handler-options.ts';
import { type Clock, systemClock, withinTime } from '../../../shared/domain/clock.ts';
import problems from '../../../shared/findings/problems.json' with { type: 'json' };

const timeouts = { connectionTimeout: 3_000, requestTimeout: 8_000 };
/**
 * More than three attempts take; a look and a call together end within the time that the unit in docs/operate/service.md
 * gives. The SDK itself waits without end for a service that gives credentials, and for a program.
 */
const longestMs = 25_000;

/** What AWS, the network or the SDK says when every event fails alike, with what to do about it. */
const meanings: Readonly<Record<string, string>> = problems.bus;
/** Other names of the same. */
const otherNames: Readonly<Record<string, string>> = {
  EAI_AGAIN: 'ENOTFOUND',
  ExpiredToken: 'ExpiredTokenException',
  InvalidClientTokenId: 'UnrecognizedClientException',
  InvalidIdentityTokenException: 'AccessDenied',
  SignatureDoesNotMatch: 'InvalidSignatureException',
};

const mayNotLook = /^(AccessDeniedException|UnknownOperation)/;

/** Answers about one event: it is too large, or the bus cannot read it. */
const aboutOneEvent = new Set([
  'InvalidInputException',
  'ValidationException',
  'MalformedDetail',
  'InvalidArgument',
]);

interface BusFailure extends Failure {
  readonly isMissing: boolean;
}

export interface EventBusAt {
  /** Asks AWS for it, unless it has been seen. @returns why it cannot be seen; undefined if it is there, or AWS does not let this user look */
  look(): Promise<BusFailure | undefined>;
  readonly deliver: Deliver;
}

/**
 * An event bus of either kind, in whichever region and account its ARN names, with the AWS credentials of the environment.
 *
 * @param arn `arn:aws:events:REGION:ACCOUNT:event-bus/NAME`, or `…:event-busv2/NAME/ID`
 */
export function eventBusAt(arn: string, clock: Clock = systemClock): EventBusAt {
  let bus = open(arn);
  let seen: Promise<BusFailure | undefined> | undefined;
  async function ask(asked: (from: typeof bus) => Promise<unknown>, ignored?: RegExp) {
    const asking = bus;
    const failure = await failureIn(
      withinTime(asked(asking), { clock, ms: longestMs, late: noAnswer }),
      ignored,
    );
    // The SDK keeps what it has read of credentials and of their files. A new client reads them again.
    if (failure?.blames === 'subscriber' && bus === asking) bus = open(arn);
    return failure;
  }
  async function look(): Promise<BusFailure | undefined> {
    seen ??= ask((asked) => asked.look(), mayNotLook);
    const failure = await seen;
    if (failure) seen = undefined;
    return failure;
  }
  return {
    look,
    async deliver(envelope) {
      const missing = bus.dropsIfMissing ? await look() : undefined;
      const failure = missing?.isMissing ? missing : await ask((asked) => asked.publish(envelope));
      if (failure) seen = undefined;
      return failure;
    },
  };
}

/** With a client that has read no credentials yet. */
function open(arn: string) {
  const [, , , region = '', , path = ''] = arn.split(':');
  const config = { region, maxAttempts: 3, requestHandler: handlerOptions(timeouts), ignoreCache: true };
  if (path.startsWith('event-busv2/')) {
    const client = customEventBusClient(config);
    const { publish } = createEventPublisher(customEventBus(client, arn));
    return { dropsIfMissing: false, look: () => describeCustomBus(client, arn), publish };
  }
  const client = new EventBridgeClient(config);
  const { publish } = createEventPublisher(classicEventBus(client, arn));
  const look = () => client.send(new DescribeEventBusCommand({ Name: arn }));
  // AWS accepts events for a classic bus that is missing, and drops them. What else is wrong shows when it is used.
  return { dropsIfMissing: true, look, publish };
}

function noAnswer(): never {
  throw Object.assign(new Error('no answer'), { name: 'TimeoutError' });
}

/** @param ignored the codes of what is no failure */
const failureIn = (asked: Promise<unknown>, ignored?: RegExp): Promise<BusFailure | undefined> =>
  asked.then(
    () => undefined,
    (error: unknown) => {
      const code = codeOf(error);
      if (ignored?.test(code)) return undefined;
      const reason = `${meanings[code] ?? 'the bus did not accept it'} (${code})`;
      const blames = aboutOneEvent.has(code) ? 'event' : 'subscriber';
      return { reason, blames, isMissing: code === 'ResourceNotFoundException' };
    },
  );

/** An error of the network has no name of its own. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const name = error instanceof RefusedEventError ? error.code : error.name;
  const { code } = (error.cause ?? error) as { readonly code?: string };
  return otherNames[code ?? ''] ?? otherNames[name] ?? (name === 'Error' ? (code ?? name) : name);
}

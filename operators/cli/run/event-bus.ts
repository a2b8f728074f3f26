import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { Deliver, Failure } from '../../../embedded/webhooks/request.ts';
import { customEventBus, customEventBusClient } from '../../../shared/aws/custom-event-bus.ts';
import {
  classicEventBus,
  createEventPublisher,
  RefusedEventError,
} from '../../../shared/aws/event-publisher.ts';
import { handlerOptions } from '../../../shared/aws/handler-options.ts';

const timeouts = { connectionTimeout: 3_000, requestTimeout: 8_000 };

/** What AWS, the network or the SDK says when every event fails alike, with what to do about it. */
const meanings: Readonly<Record<string, string>> = {
  AccessDeniedException: 'AWS denies it. Allow events:PutEvents on this bus',
  NotAuthorizedForSourceException: 'AWS denies it. Allow events:PutEvents for the source advert-bridge',
  ResourceNotFoundException: 'there is no such bus. Check its ARN',
  InvalidStateException: 'the bus is not active',
  CredentialsProviderError:
    'there are no AWS credentials, or their session has ended. Set AWS_PROFILE, or the variables of your credentials, or log in again',
  ExpiredTokenException:
    'the AWS credentials have expired. Renew them; those in variables need a new start of the run',
  UnrecognizedClientException: 'AWS does not know these credentials',
  InvalidSignatureException: 'AWS finds the signature wrong. Check the secret access key and the clock',
  ThrottlingException: 'AWS asks for fewer events',
  ENOTFOUND:
    'there is no such address. Check the region in the ARN, which may have no bus of this kind, and the network',
  ECONNREFUSED: 'nothing answers there. Check the network, and AWS_ENDPOINT_URL if it is set',
  TimeoutError: 'the bus does not answer in time. Check the network and the proxy',
};
/** Other names of the same. */
const otherNames: Readonly<Record<string, string>> = {
  ...{ EAI_AGAIN: 'ENOTFOUND', ExpiredToken: 'ExpiredTokenException' },
  SignatureDoesNotMatch: 'InvalidSignatureException',
};

/** Answers about one event: it is too large, or the bus cannot read it. */
const aboutOneEvent = new Set([
  'InvalidInputException',
  'ValidationException',
  'MalformedDetail',
  'InvalidArgument',
]);

/**
 * Publishes on an event bus of either kind, in whichever region and account its ARN names, with the AWS credentials of the
 * environment.
 *
 * @param arn `arn:aws:events:REGION:ACCOUNT:event-bus/NAME`, or `…:event-busv2/NAME/ID`
 */
export function publishOnBus(arn: string): Deliver {
  const [, , , region = '', , path = ''] = arn.split(':');
  const config = { region, maxAttempts: 3, requestHandler: handlerOptions(timeouts) };
  const publisher = path.startsWith('event-busv2/')
    ? createEventPublisher(customEventBus(customEventBusClient(config), arn))
    : createEventPublisher(classicEventBus(new EventBridgeClient(config), arn));
  return (envelope) =>
    publisher.publish(envelope).then(
      () => undefined,
      (error: unknown) => failureOf(codeOf(error)),
    );
}

/** An error of the network has no name of its own. */
function codeOf(error: unknown): string {
  if (!(error instanceof RefusedEventError)) return 'unknown';
  const { code = error.code } = error.code === 'Error' ? (error.cause as { code?: string }) : error;
  return otherNames[code] ?? code;
}

const failureOf = (code: string): Failure => ({
  reason: `${meanings[code] ?? 'the event was not accepted'} (${code})`,
  blames: aboutOneEvent.has(code) ? 'event' : 'subscriber',
});

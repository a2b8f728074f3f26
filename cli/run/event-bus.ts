import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { Deliver, Failure } from '../../embedded/webhooks/request.ts';
import { customEventBus, customEventBusClient } from '../../shared/aws/custom-event-bus.ts';
import {
  classicEventBus,
  createEventPublisher,
  RefusedEventError,
} from '../../shared/aws/event-publisher.ts';
import { handlerOptions } from '../../shared/aws/handler-options.ts';

const timeouts = { connectionTimeout: 3_000, requestTimeout: 8_000 };

/** What AWS answers when it refuses every event alike, with what to do about it. */
const meanings: Readonly<Record<string, string>> = {
  AccessDeniedException: 'AWS denies it. Allow events:PutEvents on this bus',
  NotAuthorizedForSourceException: 'AWS denies it. Allow events:PutEvents for the source advert-bridge',
  ResourceNotFoundException: 'there is no such bus. Check its ARN',
  InvalidStateException: 'the bus is not active',
  CredentialsProviderError:
    'there are no AWS credentials. Set AWS_PROFILE, or the variables of your credentials',
  ExpiredTokenException: 'the AWS credentials have expired. Renew them',
  UnrecognizedClientException: 'AWS does not know these credentials',
  ThrottlingException: 'AWS asks for fewer events',
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
      (error: unknown) => failureOf(error instanceof RefusedEventError ? error.code : 'unknown'),
    );
}

const failureOf = (code: string): Failure => ({
  reason: `${meanings[code] ?? 'the event was not accepted'} (${code})`,
  blames: aboutOneEvent.has(code) ? 'event' : 'subscriber',
});

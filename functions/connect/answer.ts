import { checked, ShapeError } from '../../shared/contract/checks.ts';
import { type ConnectAnswer, connectEvent } from '../../shared/contract/connect.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { Secret } from '../../shared/domain/secret.ts';
import type { CallOptions } from '../refresh-token/refresh-request.ts';
import type { Connect } from './connect.ts';

/**
 * Carries out the action that the event names. Success and refusal are both returned as data without secrets, for the
 * person at the command line; any other fault fails the invocation.
 *
 * @throws {ShapeError} for an event that does not match the contract; the error contains nothing of the event
 */
export async function answerConnect(
  stage: Omit<Connect, 'forget'>,
  event: unknown,
  options: CallOptions,
): Promise<ConnectAnswer> {
  const request = checked(connectEvent, event, 'event of connect');
  try {
    switch (request.action) {
      case 'authorize':
        return { kind: 'authorize', ...(await stage.authorize(request)) };
      case 'connect': {
        const { action: _action, ...rest } = request;
        // An incoming secret: from here on it is wrapped, so that it is not printed.
        const hidden =
          'code' in rest
            ? { ...rest, code: new Secret(rest.code) }
            : { ...rest, refreshToken: new Secret(rest.refreshToken) };
        return { kind: 'connected', ...(await stage.connect(hidden, options)) };
      }
      case 'check':
        return { kind: 'accepted', ...(await stage.check(options)) };
      case 'disconnect': {
        const { partnerAccount, forget } = request;
        if (!forget) return { kind: 'disconnected', known: await stage.disconnect(partnerAccount) };
        return { kind: 'forgetting', generation: (await stage.beginForget(partnerAccount)) ?? null };
      }
      case 'forget':
        await stage.endForget(request.partnerAccount, request.generation);
        return { kind: 'forgotten' };
    }
  } catch (error) {
    // The messages of these errors contain no secret.
    if (!(error instanceof PartnerError || error instanceof ShapeError)) throw error;
    return { kind: 'refused', fault: error.code, reason: error.message };
  }
}

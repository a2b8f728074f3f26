import { type Finding, fault } from '../../../operations/doctor.ts';
import { CommandError } from '../../../operations/errors.ts';
import { explained, type Place } from '../../shared/explain.ts';
import { isDenied } from '../../shared/explain-aws.ts';
import { asCalled } from '../../shared/program.ts';

/** Names of AWS errors for an operation that an emulator does not support. */
const unknownOperation = /^(UnknownOperation|InvalidAction|UnsupportedOperation|NotImplemented)/;

/**
 * The finding of a check that could not be carried out.
 *
 * @returns undefined for an unexpected error
 */
export function findingFor(error: unknown, place: Place): Finding | undefined {
  const cause = isDenied(error) ? error : (error as Error | undefined)?.cause;
  if (isDenied(cause)) return deniedFinding(cause);
  if (error instanceof Error && unknownOperation.test(error.name) && process.env.AWS_ENDPOINT_URL) {
    return { result: 'skipped', says: `${process.env.AWS_ENDPOINT_URL} does not know this call` };
  }
  const known = explained(error, place);
  if (!(known instanceof CommandError)) return undefined;
  const [says, ...mend] = asCalled(known.message).split(/\.\s+(?=[A-Z`])/);
  return fault(
    says ?? known.message,
    mend.length > 0 ? mend.join('. ') : 'Run doctor again; if this remains, investigate it',
  );
}

function deniedFinding({ message }: Error): Finding {
  const action = /perform: ([\w-]+:\w+)/.exec(message)?.[1];
  return fault(
    `could not be checked: AWS denies ${action ?? 'it'}`,
    action === undefined ? `Ask who may: ${message}` : `Allow ${action} to whoever runs doctor`,
  );
}

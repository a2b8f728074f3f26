import { textOfPlace } from '../../../operations/stack-place.ts';
import { commandFor, type Target } from '../../shared/target.ts';

export const more = `Examples:
  advert-bridge application --local .advert-bridge --base-url https://partner.example \\
    --client-id my-client --client-secret-stdin < client-secret.txt
  advert-bridge application --client-id my-client --client-secret-file client-secret.txt --check   (the deployed stack)

A bridge that is running uses new credentials within five minutes, and at once when the old ones are rejected.`;

export function storedLines(target: Target, isAccepted: boolean): string[] {
  const where = target.kind === 'local' ? target.dir : `stack ${textOfPlace(target)}`;
  return [
    `Stored the application's credentials in ${where}.`,
    ...(isAccepted ? ['The partner service accepts them.'] : []),
    `Next: \`${commandFor(target, 'connect NAME')}\``,
  ];
}

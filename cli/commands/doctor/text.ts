import type { CheckResult } from '../../../operations/doctor.ts';

export const more = `Each line is a check: ok, warning, fault, or skipped if there is nothing to check or another fault must be fixed first.
The remedy is printed below it. The only request to the partner service asks for a token of the application, which is not
stored; no token of a partner account is used.

Exit codes: 0 all is right, 1 a fault, 3 warnings only. docs/operate/doctor.md lists the checks.

Examples:
  advert-bridge doctor --local .advert-bridge
  advert-bridge doctor --json   (the deployed stack)`;

/** A line for each check, with the remedy below it, and the totals. */
export function doctorText(checks: readonly CheckResult[]): string {
  const lines = checks.flatMap(({ name, result, says, mend }) => [
    `${result.padEnd('warning'.length)}  ${name}: ${says}`,
    ...(mend === null ? [] : mend.split('\n').map((line) => `           ${line}`)),
  ]);
  const counts = (['fault', 'warning', 'skipped', 'ok'] as const).flatMap((result) => {
    const { length } = checks.filter((check) => check.result === result);
    if (length === 0) return [];
    return [`${length} ${result}${length > 1 && (result === 'fault' || result === 'warning') ? 's' : ''}`];
  });
  return [...lines, counts.join(', ')].join('\n');
}

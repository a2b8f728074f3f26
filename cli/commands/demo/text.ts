import type { AccountStatus } from '../../../operations/account-status.ts';
import { booksText } from '../../shared/wording.ts';

export const more = `Adverts change by themselves, and each change appears on standard output as one line of JSON, until Ctrl-C. All data is kept
in a temporary folder and removed at the end.

Examples:
  advert-bridge demo
  advert-bridge demo --changes 200     (200 changes, delivered and accounted for; exit code 0 only if the books balance)`;

export const startText = (url: string, advertId: string | undefined, withinSeconds: number): string =>
  `Sandbox partner service: ${url}/_sandbox/ (lists the calls)
Change an advert yourself:  curl -d '{"method":"setStatus","args":["${advertId}","sold"]}' ${url}/_sandbox/
Events appear below within ${withinSeconds} seconds of a change. Ctrl-C ends the demo.\n`;

export const stoppedText = '\nThe demo was stopped before everything was delivered.';

export const endText = (books: AccountStatus['books'], isBalanced: boolean): string =>
  `\nbooks: ${booksText({ books })}\n${isBalanced ? 'They balance.' : 'THEY DO NOT BALANCE.'}`;

interface Start {
  readonly partnerAccount: string;
  /** Address at which the user grants access. */
  readonly url: string;
  readonly redirectUri: string;
  readonly timeoutSeconds: number;
  readonly isPasted: boolean;
}

export function startText({ partnerAccount, url, redirectUri, timeoutSeconds, isPasted }: Start): string {
  const start = `To connect ${partnerAccount}, log in to the partner service as its user and allow the access:\n\n  ${url}\n\n`;
  return !isPasted
    ? `${start}Waiting for the browser to come back to ${redirectUri}, for ${timeoutSeconds} s. Ctrl-C ends it; nothing is stored before.`
    : `${start}The browser then ends at an address that begins with ${redirectUri}, and may say that it cannot be reached. ` +
        `Paste that whole address here within ${timeoutSeconds} s:`;
}

export const noBrowserText = 'No browser could be opened here: open the address yourself.';

export const answerArrivedText = 'The answer has arrived. Connecting …';

export const strangerText =
  'Note: a browser came back with an answer that does not belong to this request: its state is missing or different. It was ' +
  'refused; it may belong to an earlier attempt, or come from somebody else. Still waiting for the address above.';

export const lateText = (timeoutSeconds: number): string =>
  `no answer came within ${timeoutSeconds} s. Nothing was stored; run connect again, with --timeout-seconds N to wait longer`;

export const refusedCodeText =
  'the partner service refused the one-time code: it was used already, is too old, or was given for another application or ' +
  'redirect URI. Nothing was stored; run connect again';

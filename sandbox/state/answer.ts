/** A handler's answer. The server adds Date, Content-Length and, by default, the content type application/json. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Answer {
  const answer = { status, body: JSON.stringify(value) };
  return headers === undefined ? answer : { ...answer, headers };
}

export function html(status: number, body: string): Answer {
  return {
    status,
    body,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      // Has no form-action: browsers would apply it to the redirect after the form, which leads to the application.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    },
  };
}

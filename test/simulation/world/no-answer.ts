/** The service accepts the request and never answers. */
export const noAnswer: SimResponse = { status: 0, body: '' };

export interface SimResponse {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

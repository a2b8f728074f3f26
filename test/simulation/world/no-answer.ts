/** The service takes the request and says nothing. */
export const noAnswer: Told = { status: 0, body: '' };

export interface Told {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

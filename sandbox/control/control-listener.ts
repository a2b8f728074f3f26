import type { RequestListener } from 'node:http';
import { Input } from '../http/input.ts';
import { jsonObject } from '../http/request.ts';
import { type AnswerWriter, readBody } from '../http/wire.ts';
import { type Answer, json } from '../state/answer.ts';
import { advertRoutes } from './advert-routes.ts';
import type { SandboxControl } from './control.ts';
import type { ControlRoute } from './control-route.ts';
import { serviceRoutes } from './service-routes.ts';

const prefix = '/_sandbox';

/** In the order of the index. */
export const controlRoutes: readonly ControlRoute[] = [...advertRoutes, ...serviceRoutes];

/**
 * The control interface over HTTP, for other processes and for people with curl: JSON in, JSON out; an answer of 400
 * has the reason in `error`. GET /_sandbox/ lists the endpoints, each with an example.
 */
export function createControlListener(control: SandboxControl, writer: AnswerWriter): RequestListener {
  const routes = controlRoutes.map((route) => ({ route, pattern: patternOf(route.path) }));
  return (incoming, response) => {
    readBody(incoming, (body) => {
      const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
      const path = url.pathname.slice(prefix.length);
      let answer: Answer;
      if (path === '' || path === '/') answer = json(200, index());
      else {
        const found = routes.find(
          ({ route, pattern }) => route.method === incoming.method && pattern.test(path),
        );
        if (found === undefined) answer = json(404, { error: `no such endpoint: GET ${prefix}/ lists them` });
        else answer = run(found.route, control, found.pattern.exec(path)?.[1] ?? '', url.searchParams, body);
      }
      writer.send(response, answer);
    });
  };
}

function run(
  route: ControlRoute,
  control: SandboxControl,
  id: string,
  query: URLSearchParams,
  body: string | undefined,
): Answer {
  const fields = body === '' ? {} : jsonObject(body ?? '');
  if (fields === undefined) return json(400, { error: 'the body is not a JSON object of at most 1 MB' });
  try {
    const input = new Input(fields, route.fields ?? Object.keys(route.body ?? {}));
    return json(200, route.run({ control, input, query, id: decodeURIComponent(id) }));
  } catch (error) {
    const isTheirs = error instanceof RangeError || error instanceof URIError;
    return json(isTheirs ? 400 : 500, { error: error instanceof Error ? error.message : String(error) });
  }
}

function index(): unknown {
  return {
    about:
      'Control of the sandbox partner service. Bodies are JSON objects; `user` is the first one by default; for truth, expire and invalidate it is all users.',
    endpoints: controlRoutes.map(({ method, path, does, body }) => ({
      method,
      path: prefix + path,
      does,
      body,
    })),
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace('{id}', '([^/]+)')}$`);
}

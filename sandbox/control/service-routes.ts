import { defined, faultFields, queryCount, readFault } from '../http/input.ts';
import type { ConsentMode } from '../state/consent.ts';
import type { SandboxControl, SettingsPatch } from './control.ts';
import type { ControlRoute } from './control-route.ts';

/** Control endpoints for clock, journal, faults, settings, cursors, tokens and consent. */
export const serviceRoutes: readonly ControlRoute[] = [
  { method: 'GET', path: '/clock', does: "the service's clock", run: ({ control }) => clockState(control) },
  {
    method: 'POST',
    path: '/clock',
    does: 'sets the clock (milliseconds since 1970, or ISO 8601), advances it, freezes it (true) or lets it run (false)',
    body: { set: '2026-11-20T12:00:00Z', advanceMs: 1000, frozen: true },
    run: ({ control, input }) => {
      const set = input.any('set');
      const advanceMs = input.number('advanceMs');
      const frozen = input.flag('frozen');
      if (set !== undefined) control.clock.set(typeof set === 'number' ? set : Date.parse(String(set)));
      if (advanceMs !== undefined) control.clock.advance(advanceMs);
      if (frozen === true) control.clock.freeze();
      if (frozen === false) control.clock.run();
      return clockState(control);
    },
  },
  {
    method: 'GET',
    path: '/journal',
    does: 'the requests that arrived; ?since= the index of the first one wanted, ?limit=',
    run: ({ control: { journal }, query }) => {
      const entries = journal.list(queryCount(query, 'since'), queryCount(query, 'limit'));
      return { nextIndex: journal.nextIndex, entries };
    },
  },
  {
    method: 'DELETE',
    path: '/journal',
    does: 'clears the journal; indexes go on',
    run: ({ control: { journal } }) => {
      journal.clear();
      return { nextIndex: journal.nextIndex };
    },
  },
  { method: 'GET', path: '/faults', does: 'the standing faults', run: ({ control }) => faultState(control) },
  {
    method: 'POST',
    path: '/faults',
    does: 'injects a fault',
    fields: faultFields,
    body: {
      endpoint: 'advert',
      advertId: '1001',
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '2' },
      count: 3,
    },
    run: ({ control, input }) => {
      return { id: control.faults.add(readFault(input)) };
    },
  },
  {
    method: 'DELETE',
    path: '/faults',
    does: 'removes all faults',
    run: ({ control }) => {
      control.faults.clear();
      return faultState(control);
    },
  },
  {
    method: 'DELETE',
    path: '/faults/{id}',
    does: 'removes one fault',
    run: ({ control, id }) => ({ removed: control.faults.remove(Number(id)) }),
  },
  {
    method: 'GET',
    path: '/settings',
    does: 'settings and assumptions',
    run: ({ control }) => control.settings(),
  },
  {
    method: 'POST',
    path: '/settings',
    does: 'changes settings and assumptions',
    fields: [
      'visibilityDelayMs',
      'latencyMs',
      'accessTokenLifetimeSeconds',
      'retentionSeconds',
      'assumptions',
    ],
    body: {
      latencyMs: 20,
      visibilityDelayMs: 0,
      retentionSeconds: null,
      assumptions: { removedAdvertStatus: 410 },
    },
    run: ({ control, input }) => {
      const patch: Record<string, unknown> = {};
      for (const name of ['visibilityDelayMs', 'latencyMs', 'accessTokenLifetimeSeconds'] as const) {
        const value = input.number(name);
        if (value !== undefined) patch[name] = value;
      }
      for (const name of ['retentionSeconds', 'assumptions'] as const) {
        const value = input.any(name);
        if (value !== undefined) patch[name] = value;
      }
      control.change(patch as SettingsPatch);
      return control.settings();
    },
  },
  {
    method: 'POST',
    path: '/cursors/invalidate',
    does: 'makes the service forget its cursors',
    body: { user: 'main' },
    run: ({ control, input }) => {
      control.invalidateCursors(input.text('user'));
      return {};
    },
  },
  {
    method: 'POST',
    path: '/application',
    does: 'gives the application another client secret; the old one is refused from now on',
    body: { clientSecret: 'another-secret' },
    run: ({ control, input }) => {
      control.replaceClientSecret(input.text('clientSecret') ?? '');
      return {};
    },
  },
  {
    method: 'POST',
    path: '/tokens/expire',
    does: 'lets access tokens expire now',
    body: { user: 'main' },
    run: ({ control, input }) => ({ expired: control.expireAccessTokens(input.text('user')) }),
  },
  {
    method: 'POST',
    path: '/tokens/revoke',
    does: 'withdraws what a user granted',
    body: { user: 'main' },
    run: ({ control, input }) => ({ revoked: control.revoke(input.text('user')) }),
  },
  {
    method: 'POST',
    path: '/tokens/issue',
    does: 'issues a fresh refresh token',
    body: { user: 'main', scope: 'v2 read' },
    run: ({ control, input }) => ({
      refreshToken: control.issueRefreshToken(input.text('user'), input.text('scope')),
    }),
  },
  {
    method: 'POST',
    path: '/codes',
    does: 'issues a one-time code without the consent page',
    body: { user: 'main', scope: 'v2 read', redirectUri: 'http://127.0.0.1:8765/callback' },
    run: ({ control, input }) => {
      const [user, scope, redirectUri] = ['user', 'scope', 'redirectUri'].map((name) => input.text(name));
      return { code: control.issueCode(defined({ user, scope, redirectUri })) };
    },
  },
  {
    method: 'POST',
    path: '/consent',
    does: 'decides who answers the consent page: a person (ask), or the sandbox at once (allow, deny)',
    body: { mode: 'allow', user: 'main' },
    run: ({ control, input }) => {
      const mode = input.text('mode');
      if (mode !== 'ask' && mode !== 'allow' && mode !== 'deny')
        throw new RangeError('mode is ask, allow or deny');
      control.setConsent(defined({ mode, user: input.text('user') }) as ConsentMode);
      return {};
    },
  },
];

function clockState({ clock }: SandboxControl): unknown {
  const nowMs = clock.now();
  return { nowMs, now: new Date(nowMs).toISOString(), frozen: clock.frozen };
}

function faultState({ faults }: SandboxControl): unknown {
  return { faults: faults.list() };
}

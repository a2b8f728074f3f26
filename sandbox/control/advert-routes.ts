import { defined, required } from '../http/input.ts';
import type { ControlRoute } from './control-route.ts';

/** Control endpoints for users, adverts and the changes of the feed. */
export const advertRoutes: readonly ControlRoute[] = [
  {
    method: 'GET',
    path: '/truth',
    does: 'every advert with its status and history, and the number of changes; ?user=',
    run: ({ control, query }) => {
      const user = query.get('user') ?? undefined;
      return { changes: control.changeCount(user), users: control.users(), adverts: control.truth(user) };
    },
  },
  {
    method: 'GET',
    path: '/users',
    does: 'the users, how many adverts and changes each has',
    run: ({ control }) => ({ users: control.users() }),
  },
  {
    method: 'POST',
    path: '/users',
    does: 'adds a user',
    body: { name: 'other', adverts: 5, refreshToken: 'a-ready-made-one', scope: 'v2 read write' },
    run: ({ control, input }) => {
      const name = required('name', input.text('name'));
      const refreshToken = input.text('refreshToken');
      control.addUser(
        name,
        defined({ refreshToken, scope: input.text('scope'), adverts: input.count('adverts') }),
      );
      return { name, refreshToken: refreshToken ?? `sandbox-refresh-token-${name}` };
    },
  },
  {
    method: 'POST',
    path: '/adverts',
    does: 'creates adverts',
    body: { count: 3, user: 'main', status: 'active' },
    run: ({ control, input }) => {
      const count = input.count('count') ?? 1;
      const ids = control.createAdverts(
        count,
        defined({ user: input.text('user'), status: input.text('status') }),
      );
      return { ids };
    },
  },
  {
    method: 'GET',
    path: '/adverts/{id}',
    does: 'one advert with its history',
    run: ({ control, id }) => required(`advert ${id}`, control.advert(id)),
  },
  {
    method: 'DELETE',
    path: '/adverts/{id}',
    does: 'removes an advert',
    run: ({ control, id }) => {
      control.remove(id);
      return control.advert(id);
    },
  },
  {
    method: 'POST',
    path: '/adverts/{id}/status',
    does: 'sets the status of an advert',
    body: { status: 'active' },
    run: ({ control, input, id }) => {
      control.setStatus(id, required('status', input.text('status')));
      return control.advert(id);
    },
  },
  {
    method: 'POST',
    path: '/adverts/{id}/restore',
    does: 'brings a removed advert back, by default with its last status',
    body: { status: 'active' },
    run: ({ control, input, id }) => {
      control.restore(id, input.text('status'));
      return control.advert(id);
    },
  },
  {
    method: 'POST',
    path: '/orders/{id}/status',
    does: 'gives an order a status, a new order too (the orders feed is assumed)',
    body: { status: 'paid', user: 'main' },
    run: ({ control, input, id }) =>
      control.setOrder(id, required('status', input.text('status')), input.text('user')),
  },
  {
    method: 'DELETE',
    path: '/orders/{id}',
    does: 'removes an order; ?user=',
    run: ({ control, query, id }) => control.setOrder(id, null, query.get('user') ?? undefined),
  },
  {
    method: 'POST',
    path: '/random-changes',
    does: 'changes random adverts to random other statuses',
    body: { count: 100, user: 'main' },
    run: ({ control, input }) => {
      const count = input.count('count') ?? 1;
      return { ids: control.changeRandomly(count, defined({ user: input.text('user') })) };
    },
  },
  {
    method: 'POST',
    path: '/feed-entries',
    does: 'puts any string in the feed as an ID',
    body: { id: 'not-a-number', user: 'main' },
    run: ({ control, input }) => {
      control.listRaw(required('id', input.text('id')), input.text('user'));
      return { changes: control.changeCount() };
    },
  },
];

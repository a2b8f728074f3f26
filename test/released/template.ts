import { type Resource, synthesized } from '../helpers/synthesized.ts';

export interface ReleasedTemplate {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: Readonly<Record<string, { readonly Value: unknown }>>;
}

/** A bridge that has every resource that a setting can bring. */
const everything = {
  ...{ alarmEmail: 'team@example.com', dashboard: 'true', feeds: 'adverts,orders' },
  ...{ subscriberAccounts: '111111111111,222222222222', organizationId: 'o-a1b2c3d4e5' },
};

/** The stack as these sources synthesize it, without what differs from build to build: the functions' code. */
export function templateNow(): ReleasedTemplate {
  const { Resources, Outputs } = synthesized(everything).template.toJSON() as ReleasedTemplate;
  const normalized = Object.entries(Resources).map(([id, { Properties, ...resource }]) => {
    const { Code: _code, ...kept } = Properties ?? {};
    return [id, { ...resource, Properties: kept }] as const;
  });
  return { Resources: Object.fromEntries(normalized), Outputs };
}

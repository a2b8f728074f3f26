import type { CfnResource } from 'aws-cdk-lib';
import * as cdk from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * Tells cdk-nag why a rule does not apply. cdk-nag 3 reads this from the CDK's validations; with a version of the CDK that
 * has none yet, there can only be cdk-nag 2, which reads metadata of the resource.
 */
export function acknowledge(construct: IConstruct, id: string, reason: string): void {
  const { Validations } = cdk as Partial<typeof cdk>;
  if (Validations) Validations.of(construct).acknowledge({ id, reason });
  else
    (construct.node.defaultChild as CfnResource).addMetadata('cdk_nag', {
      rules_to_suppress: [{ id, reason }],
    });
}

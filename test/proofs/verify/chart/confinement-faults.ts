/** Checks which rights the pods of the chart have, and who can connect to the pods. */
import { templateOf, type Resource } from './manifests.ts';

interface Rule {
  readonly ports?: readonly { readonly port: string }[];
  readonly from?: readonly object[];
}

interface Policy {
  readonly podSelector?: { readonly matchLabels?: object; readonly matchExpressions?: readonly object[] };
  readonly policyTypes?: readonly string[];
  readonly ingress?: readonly Rule[];
}

const byDigest = /@sha256:[0-9a-f]{64}$/;
const metrics: readonly string[] = ['metrics', 'sdk-metrics'];

/** @param expected whether images must be named by digests, and whether network policies must exist */
export function confinementFaults(
  resources: readonly Resource[],
  expected: { digests: boolean; policies: boolean },
): string[] {
  const faults: string[] = [];
  const demand = (holds: boolean, fault: string) => void (holds || faults.push(fault));
  for (const resource of resources) {
    const template = templateOf(resource);
    if (!['Deployment', 'Job', 'Pod'].includes(resource.kind) || !template) continue;
    const at = `${resource.kind} ${resource.metadata.name}`;
    const { automountServiceAccountToken, securityContext: pod, containers } = template.spec;
    demand(automountServiceAccountToken === false, `${at} has the token of its account`);
    demand(pod?.runAsNonRoot === true && (pod.runAsUser ?? 0) > 0, `${at} may run as root`);
    demand(pod?.seccompProfile?.type === 'RuntimeDefault', `${at} has no filter of system calls`);
    for (const { securityContext: own, image } of containers) {
      demand(own?.allowPrivilegeEscalation === false, `${at} may get privileges`);
      demand(own?.readOnlyRootFilesystem === true, `${at} may write its root`);
      demand(own?.capabilities?.drop?.join() === 'ALL' && !own.capabilities.add, `${at} has capabilities`);
      demand(!expected.digests || byDigest.test(image), `${at} names ${image} without a digest`);
    }
  }
  const policies = resources.filter(({ kind }) => kind === 'NetworkPolicy');
  demand(policies.length === (expected.policies ? 2 : 0), `it has ${policies.length} network policies`);
  for (const { metadata, spec } of policies) {
    const { policyTypes, ingress = [] } = spec as Policy;
    demand(policyTypes?.join() === 'Ingress', `NetworkPolicy ${metadata.name} does not restrict incoming traffic`);
    for (const { ports = [], from = [] } of ingress) {
      const isOfMetrics = ports.length === 0 || ports.some(({ port }) => metrics.includes(port));
      demand(
        !isOfMetrics || (from.length === 1 && JSON.stringify(from).includes('kubernetes.io/metadata.name')),
        `NetworkPolicy ${metadata.name} opens the metrics to more than one namespace`,
      );
    }
  }
  return faults;
}

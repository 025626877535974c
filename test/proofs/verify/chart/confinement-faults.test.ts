import { expect } from 'chai';
import { eachCase } from '../../../toolkit/assert/each-case.ts';
import { confinementFaults } from './confinement-faults.ts';
import type { Resource } from './manifests.ts';

const own = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
const container = { name: 'api', image: `club:1@sha256:${'a'.repeat(64)}`, args: [], env: [], volumeMounts: [] };
const spec = {
  serviceAccountName: 'club',
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
  volumes: [],
};
const podsOf = (pod: object = {}, of: object = {}): Resource => ({
  kind: 'Deployment',
  metadata: { name: 'api' },
  spec: {
    template: {
      metadata: { labels: {} },
      spec: { ...spec, containers: [{ ...container, securityContext: own, ...of }], ...pod },
    },
  },
});
const policyOf = (...ingress: readonly object[]): Resource => ({
  kind: 'NetworkPolicy',
  metadata: { name: 'api' },
  spec: { policyTypes: ['Ingress'], ingress },
});
const monitoring = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
const policies = [policyOf(), policyOf({ ports: [{ port: 'metrics' }], from: [monitoring] })];
const expected = { digests: true, policies: true };

describe('the check of confinement', () => {
  it('finds no fault if pods have only the needed rights, and one namespace can read the metrics', () => {
    expect(confinementFaults([podsOf(), ...policies], expected)).to.deep.equal([]);
  });

  it('names each fault', async () => {
    const cases: [Resource[], string][] = [
      [
        [podsOf({ automountServiceAccountToken: undefined }), ...policies],
        'Deployment api has the token of its account',
      ],
      [
        [podsOf({ securityContext: { ...spec.securityContext, runAsUser: 0 } }), ...policies],
        'Deployment api may run as root',
      ],
      [
        [podsOf({ securityContext: { ...spec.securityContext, seccompProfile: undefined } }), ...policies],
        'Deployment api has no filter of system calls',
      ],
      [
        [podsOf({}, { securityContext: { ...own, allowPrivilegeEscalation: true } }), ...policies],
        'Deployment api may get privileges',
      ],
      [
        [podsOf({}, { securityContext: { ...own, readOnlyRootFilesystem: false } }), ...policies],
        'Deployment api may write its root',
      ],
      [
        [podsOf({}, { securityContext: { ...own, capabilities: { drop: ['ALL'], add: ['CHOWN'] } } }), ...policies],
        'Deployment api has capabilities',
      ],
      [[podsOf({}, { image: 'club:1' }), ...policies], 'Deployment api names club:1 without a digest'],
      [[podsOf()], 'it has 0 network policies'],
      [
        [podsOf(), policyOf(), policyOf({ ports: [{ port: 'metrics' }] })],
        'NetworkPolicy api opens the metrics to more than one namespace',
      ],
      [
        [podsOf(), policyOf(), policyOf({ from: [{ podSelector: {} }] })],
        'NetworkPolicy api opens the metrics to more than one namespace',
      ],
    ];
    await eachCase(cases, async ([resources, fault]) =>
      expect(confinementFaults(resources, expected)).to.deep.equal([fault]),
    );
  });
});

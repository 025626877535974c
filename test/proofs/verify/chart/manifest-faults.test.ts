import { expect } from 'chai';
import { eachCase } from '../../../toolkit/assert/each-case.ts';
import { manifestFaults } from './manifest-faults.ts';
import type { Resource } from './manifests.ts';

const labels = { component: 'api' };
const container = {
  name: 'api',
  image: 'club-learning:1.0.0',
  args: ['api'],
  env: [
    { name: 'PUBLIC_URL', value: 'https://api.example.com' },
    { name: 'MASTER_KEY_FILE', value: '/run/secrets/club-learning/MASTER_KEY' },
    { name: 'NODE_OPTIONS', value: '--trace-warnings' },
  ],
  ports: [{ name: 'http', containerPort: 8080 }],
  volumeMounts: [{ name: 'secrets', mountPath: '/run/secrets/club-learning' }],
} as const;
type Container = NonNullable<NonNullable<Resource['spec']>['template']>['spec']['containers'][0];

const withPods = (kind: string, name: string, of: Container = container, account = 'default'): Resource => ({
  kind,
  metadata: { name },
  spec: {
    template: { metadata: { labels }, spec: { serviceAccountName: account, containers: [of], volumes: [] } },
  },
});
const hook = (event: string, account?: string): Resource => ({
  ...withPods('Job', 'migrate', container, account),
  metadata: { name: 'migrate', annotations: { 'helm.sh/hook': event } },
});
const withSpec = (kind: string, spec: object): Resource => ({ kind, metadata: { name: 'of-api' }, spec: { ...spec } });
const api = withPods('Deployment', 'api');

describe('the manifest check of the chart', () => {
  it('finds no fault if all names match', () => {
    const service = withSpec('Service', { selector: labels, ports: [{ targetPort: 'http' }] });
    const budget = withSpec('PodDisruptionBudget', { selector: { matchLabels: labels } });
    const scaler = withSpec('HorizontalPodAutoscaler', { scaleTargetRef: { name: 'api' } });
    const account: Resource = { kind: 'ServiceAccount', metadata: { name: 'club' } };
    expect(manifestFaults([api, hook('pre-install,pre-upgrade'), account, service, budget, scaler])).to.deep.equal([]);
  });

  it('names each fault', async () => {
    const plainSecret = { ...container, env: [{ name: 'MASTER_KEY', value: 'in plain sight' }] };
    const unexposed = { ...container, args: ['worker'], env: [{ name: 'TEMPORAL_METRICS_PORT', value: '9090' }] };
    const unmounted = { ...container, volumeMounts: [] };
    const twice = { ...container, env: [...container.env, ...container.env.slice(0, 1)] };
    const account: Resource = { kind: 'ServiceAccount', metadata: { name: 'club' } };
    const cases: [Resource[], string][] = [
      [[api, api], 'two resources have the same name'],
      [[{ kind: 'ConfigMap', metadata: { name: 'c' } }], 'it makes Secrets or ConfigMaps: hooks would run before them'],
      [[withPods('Deployment', 'api', plainSecret)], 'Deployment api shows the secret MASTER_KEY'],
      [[withPods('Deployment', 'api', unmounted)], 'Deployment api: MASTER_KEY_FILE names a file that is not mounted'],
      [[withPods('Deployment', 'api', twice)], 'Deployment api sets a variable twice'],
      [[account, hook('pre-install', 'club')], 'Job migrate runs before its account club is there'],
      [[withPods('Job', 'promote')], 'Job promote is no hook'],
      [
        [withSpec('PodDisruptionBudget', { selector: { matchLabels: { component: 'a' } } })],
        'PodDisruptionBudget of-api selects no pods',
      ],
      [
        [api, withSpec('Service', { selector: labels, ports: [{ targetPort: 'files' }] })],
        'Service of-api: no pod has the port files',
      ],
      [
        [
          api,
          withSpec('PodMonitor', { selector: { matchLabels: labels }, podMetricsEndpoints: [{ port: 'metrics' }] }),
        ],
        'PodMonitor of-api: no pod has the port metrics',
      ],
      [
        [withPods('Deployment', 'worker', unexposed)],
        'Deployment worker does not show the port of TEMPORAL_METRICS_PORT',
      ],
      [[api, withSpec('Ingress', { port: 'metrics' })], 'Ingress of-api leads to metrics'],
      [
        [withSpec('HorizontalPodAutoscaler', { scaleTargetRef: { name: 'api' } })],
        'HorizontalPodAutoscaler of-api fights the replicas of api',
      ],
    ];
    await eachCase(cases, ([resources, fault]) => expect(manifestFaults(resources)).to.deep.equal([fault]));
  });
});

/**
 * Reads the manifests that Helm rendered, and validates them with the schemas of Kubernetes in the Python package `kubernetes-validate`.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { messageOf, Problem } from '../../../../dev/problem.ts';

const packageName = 'kubernetes-validate==1.37.0';
const script = path.join(import.meta.dirname, 'manifests.py');

interface HttpProbe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
  readonly startupProbe?: HttpProbe;
  readonly livenessProbe?: HttpProbe;
  readonly readinessProbe?: HttpProbe;
}

interface SecretSource {
  readonly secret: {
    readonly name: string;
    readonly items: readonly { readonly key: string; readonly path: string }[];
  };
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly automountServiceAccountToken?: boolean;
    readonly securityContext?: {
      readonly runAsNonRoot?: boolean;
      readonly runAsUser?: number;
      readonly seccompProfile?: { readonly type: string };
    };
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly [Container];
    readonly volumes: readonly {
      readonly name: string;
      readonly projected?: { readonly sources: readonly SecretSource[] };
    }[];
  };
}

/** The fields of a resource that the proof reads. The kind of the resource decides which of them exist. */
export interface Resource {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly replicas?: number;
    readonly backoffLimit?: number;
    readonly activeDeadlineSeconds?: number;
    readonly template?: PodTemplate;
    readonly [more: string]: unknown;
  };
}

/** @returns the template of the pods, or the pod; undefined if the resource has no pods */
export function templateOf({ kind, metadata, spec }: Resource): PodTemplate | undefined {
  if (kind !== 'Pod') return spec?.template;
  return { metadata: { labels: metadata.labels ?? {} }, spec: spec as unknown as PodTemplate['spec'] };
}

interface Read {
  readonly resources: readonly Resource[];
  readonly valid: number;
  readonly problems: readonly string[];
  /** Kinds without a schema in Kubernetes. */
  readonly unknown: readonly string[];
}

export type ReadManifests = (yaml: string, versions: readonly string[]) => Promise<Read>;

/** @throws Problem when pip cannot install the package */
export async function findManifestReader(directory: string): Promise<ReadManifests> {
  const isInstalled = await runCommand('python3', ['-c', 'import kubernetes_validate, yaml']).then(
    () => true,
    () => false,
  );
  if (!isInstalled)
    await runCommand('python3', ['-m', 'pip', 'install', '--quiet', '--target', directory, packageName]).catch(
      (error: unknown) => {
        throw new Problem(`Python has no kubernetes-validate, and pip could not install it: ${messageOf(error)}`);
      },
    );
  const env = { ...process.env, ...(!isInstalled && { PYTHONPATH: directory }) };
  return async (yaml, versions) => {
    const child = spawn('python3', [script, ...versions], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(yaml);
    return JSON.parse(await text(child.stdout)) as Read;
  };
}

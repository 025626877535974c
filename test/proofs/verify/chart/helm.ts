/**
 * Finds Helm on the PATH, or builds it from its Go module. A built Helm has no default version of Kubernetes, so each call names the
 * version.
 */
import path from 'node:path';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { locate } from '../../../../dev/components.ts';
import type { Component } from '../../../../dev/components/catalogue.ts';
import { goInstall } from '../../../../dev/components/go.ts';
import { projectDirectory } from '../../../../dev/project.ts';
import { messageOf } from '../../../../dev/problem.ts';
import { askProgram } from '../../../../platform/infra/programs/programs.ts';
import { progress } from '../../faults/progress.ts';

const version = '3.22.0';
const chart = path.join(projectDirectory, 'deploy', 'chart');

const component: Component = {
  title: 'Helm',
  executable: 'helm',
  version,
  variable: 'HELM_BINARY',
  sources: [
    goInstall({
      module: `helm.sh/helm/v3/cmd/helm@v${version}`,
      executable: 'helm',
      duration: '2 to 5 minutes the first time',
    }),
  ],
  advice: ['install Helm 3: https://helm.sh/docs/intro/install', 'install Go 1.25 or newer (https://go.dev/dl)'],
  async flawOf(executable) {
    const versionText = await askProgram(executable, ['version', '--short']).catch(messageOf);
    return versionText.startsWith('v3.') ? undefined : `says ${versionText.trim()}; Helm 3 is needed`;
  },
  check: async (executable) => void (await askProgram(executable, ['version'])),
};

interface Values {
  readonly files: readonly string[];
  readonly set?: Readonly<Record<string, string>>;
}

export interface Helm {
  /** @throws Error with the problems that Helm reports */
  lint(values: Values, kubernetes: string): Promise<void>;
  /** @returns the manifests with hooks and tests, as YAML @throws Error with the reason when Helm renders nothing */
  render(values: Values, kubernetes: string): Promise<string>;
}

/** @throws Problem when Helm is missing and cannot be built */
export async function findHelm(): Promise<Helm> {
  const helm = await locate(component, { report: progress });
  const argumentsOf = ({ files, set = {} }: Values, kubernetes: string) => [
    '--kube-version',
    kubernetes,
    ...files.flatMap((file) => ['--values', file]),
    ...Object.entries(set).flatMap(([name, value]) => ['--set-string', `${name}=${value}`]),
  ];
  return {
    lint: async (values, kubernetes) =>
      void (await runCommand(helm, ['lint', '--strict', '--quiet', chart, ...argumentsOf(values, kubernetes)])),
    render: (values, kubernetes) =>
      runCommand(helm, ['template', 'club', chart, '--namespace', 'clubs', ...argumentsOf(values, kubernetes)]),
  };
}

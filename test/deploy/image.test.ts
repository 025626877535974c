/**
 * Compares deploy/Dockerfile with the code, as far as that is possible without Docker. `npm run prove -- verify image` builds and runs the
 * image.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { declarations } from '../../config.ts';
import { allocatorSettings } from '../../dev/stack/allocator.ts';
import { productImports } from '../../dev/generators/import-graph.ts';
import { projectDirectory } from '../../dev/project.ts';
import { variablesIn } from '../../platform/infra/variables.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');
const dockerfile = read('deploy/Dockerfile');

describe('deploy/Dockerfile', () => {
  it('sets the folders for files, the addresses to listen on, and the variables of the memory allocator', () => {
    const [, lines = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
    const set = Object.fromEntries([...lines.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]));
    const { NODE_ENV, API_HOST, WORKER_HOST, MEDIA_WORK_DIRECTORY, TMPDIR, HOME, ...others } = set;
    expect(others).to.deep.equal(allocatorSettings);
    expect({ NODE_ENV, API_HOST, WORKER_HOST, MEDIA_WORK_DIRECTORY, TMPDIR, HOME }).to.deep.equal({
      NODE_ENV: 'production',
      API_HOST: '0.0.0.0',
      WORKER_HOST: '0.0.0.0',
      MEDIA_WORK_DIRECTORY: '/scratch',
      TMPDIR: '/scratch',
      HOME: '/srv/club-learning',
    });
    const known = variablesIn(declarations).map(({ name }) => name);
    expect(known).to.include.members(['API_HOST', 'WORKER_HOST', 'MEDIA_WORK_DIRECTORY']);
  });

  it('exposes the ports of the default configuration', () => {
    const ports = variablesIn(declarations).filter(({ name }) => /^(API|API_METRICS|WORKER|FILES)_PORT$/.test(name));
    const exposed = /^EXPOSE (.+)$/m.exec(dockerfile)?.[1]?.split(' ');
    expect(exposed).to.have.members(ports.map(({ fallback }) => fallback));
  });

  it('builds on an image with an accepted Node version and with glibc', () => {
    expect(/^ARG BASE=(.+)$/m.exec(dockerfile)?.[1]).to.equal('docker.io/library/node:24-trixie-slim');
    expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)).to.deep.equal([
      '${BASE}',
      '${BASE}',
      '${BASE}',
    ]);
  });
});

describe('.dockerignore', () => {
  const letThrough = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));

  it('lets through only the files that the build reads', () => {
    const folders = productImports(projectDirectory).map(({ file }) => file.split('/')[0]);
    const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
    expect(letThrough).to.have.members([...new Set([...folders, 'dev']), ...files]);
  });
});

/**
 * Checks deploy/compose.yaml and the files that compose.yaml reads, without running Compose. `npm run prove -- verify chart` checks
 * compose.yaml against the specification.
 */
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';
import { readConfig } from '../../config.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');
const compose = read('deploy/compose.yaml');

describe('deploy/compose.yaml', () => {
  it('pins the versions of all third-party images, and uses no discontinued image', () => {
    const images = [...compose.matchAll(/^ +image: (.+)$/gm)].map(([, image = '']) => image);
    const others = images.filter((image) => !image.startsWith('${CLUB_LEARNING_'));
    expect(others).to.have.lengthOf(5);
    expect(others.filter((image) => !/:v?\d+\.\d+[.\w-]*$/.test(image))).to.deep.equal([]);
    expect(compose).not.to.match(/auto-setup|minio/i);
  });

  it('runs every service with restricted rights, and publishes no port to other machines', () => {
    const [, services = ''] = /^services:\n([\s\S]+?)^secrets:/m.exec(compose) ?? [];
    const blocks = services.split(/^ {2}(?=[\w-]+:\n)/m).slice(1);
    expect(blocks.length).to.be.at.least(12);
    const unconfined = blocks.filter((block) => !/<<: \*(confined|service|one-shot|worker)$/m.test(block));
    expect(unconfined).to.deep.equal([]);
    const ports = [...compose.matchAll(/^ +(?:- |ports: \[)'(.*?:)?\d+:\d+'\]?$/gm)].map(([, address]) => address);
    expect(ports).to.have.lengthOf(4);
    expect(new Set(ports)).to.deep.equal(new Set(['${CLUB_LEARNING_BIND:-127.0.0.1}:']));
  });

  it('gives the root key of the object store only to the store and the service that creates the buckets', () => {
    const holders = [...compose.matchAll(/^ {4}secrets: .*s3-root-secret-access-key/gm)];
    expect(holders).to.have.lengthOf(2);
    expect(compose).to.match(/S3_SECRET_ACCESS_KEY_FILE: \/run\/secrets\/s3-secret-access-key/);
  });

  it('uses the same version of Temporal’s server and Temporal’s tools', () => {
    const versions = [...compose.matchAll(/temporalio\/(server|admin-tools):(\S+)/g)];
    expect(new Set(versions.map(([, name]) => name)).size).to.equal(2);
    expect(new Set(versions.map(([, , version]) => version)).size).to.equal(1);
  });
});

describe('deploy/compose/make-secrets.sh', () => {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'club-secrets-'));
  const run = () => execFileSync('sh', [path.join(projectDirectory, 'deploy/compose/make-secrets.sh'), directory]);
  const secret = (name: string) => readFileSync(path.join(directory, name), 'utf8');
  const all = () => Object.fromEntries(readdirSync(directory).map((name) => [name, secret(name)]));
  after(() => rmSync(directory, { recursive: true }));

  it('creates the secret files that compose.yaml names, and does not change existing files', () => {
    run();
    const secretFiles = all();
    const named = [...compose.matchAll(/^ {2}[\w-]+: \{ file: secrets\/([\w-]+) \}$/gm)].map(([, name]) => name);
    expect(Object.keys(secretFiles)).to.have.members(named);
    expect(statSync(directory).mode & 0o777).to.equal(0o700);
    expect(statSync(path.join(directory, 'master-key')).mode & 0o777).to.equal(0o644);
    run();
    expect(all()).to.deep.equal(secretFiles);
  });

  it('creates secrets that the service accepts', () => {
    run();
    const variables = [...compose.matchAll(/^ {4}(\w+_FILE): \/run\/secrets\/([\w-]+)$/gm)];
    const env = Object.fromEntries(variables.map(([, name, file = '']) => [name, path.join(directory, file)]));
    const config = readConfig({ ...env, S3_ENDPOINT: 'http://s3.localhost:7070' });
    expect(config.database.url.reveal()).to.equal(
      `postgres://club_learning:${secret('database-password')}@postgres:5432/club_learning`,
    );
    expect(config.masterKey.reveal()).to.have.lengthOf(32);
  });
});

import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { projectDirectory } from '../../../dev/project.ts';
import { isUnitTest } from '../../run/files.ts';
import { mutationTargets } from './targets.ts';

describe('npm run prove -- mutate', () => {
  it('puts each file of pure rules into the target of its folder, exactly once', () => {
    const files = fs.globSync('{api,domain,platform}/**/*.policy.ts', { cwd: projectDirectory });
    const sources = mutationTargets().flatMap((target) => target.sources);
    expect(files.length).to.be.above(60);
    expect(sources.toSorted()).to.deep.equal(files.toSorted());
  });

  it('runs only unit tests, including the tests that import a rule', () => {
    const webhooks = mutationTargets().find(({ name }) => name === 'webhooks');
    expect(webhooks?.sources).to.include('domain/webhooks/deliveries/schedule.policy.ts');
    expect(webhooks?.tests).to.include('test/domain/webhooks/deliveries/schedule.policy.test.ts');
    const all = mutationTargets().flatMap(({ tests }) => tests);
    expect(all.filter((file) => !isUnitTest(file))).to.deep.equal([]);
  });

  it('refuses an unknown context, names the known contexts, and changes nothing', () => {
    const command = ['--import', './platform/load.mjs', 'test/proofs/mutation/main.ts', 'webhook'];
    const { status, stderr } = spawnSync(process.execPath, command, { cwd: projectDirectory, encoding: 'utf8' });
    expect(status).to.equal(1);
    expect(stderr).to.match(/^\nNo rules in webhook\. There are: .*\bwebhooks\b.*\.\n$/);
  });
});

import { expect } from 'chai';
import { isQuick, isUnitTest, likeliestFirst, longestFirst, shuffled, testFiles } from './files.ts';

describe('test/run/files', () => {
  it('sorts files without a measured duration first, and then the longest files', () => {
    const durations = { 'a.test.ts': 1, 'b.test.ts': 3, 'c.test.ts': 2 };
    expect(longestFirst(['a.test.ts', 'b.test.ts', 'new.test.ts', 'c.test.ts'], durations)).to.deep.equal([
      'new.test.ts',
      'b.test.ts',
      'c.test.ts',
      'a.test.ts',
    ]);
  });

  it('shuffles all files into an order that depends only on the seed', () => {
    const files = testFiles();
    expect(shuffled(files, 7)).to.deep.equal(shuffled(files, 7));
    expect(shuffled(files, 7)).not.to.deep.equal(shuffled(files, 8));
    expect(shuffled(files, 7).toSorted()).to.deep.equal(files);
  });

  it('puts files that contain all search words first', () => {
    const files = ['test/entities/extensions.test.ts', 'test/run/files.test.ts'];
    expect(likeliestFirst(files, 'loses no FILE')).to.deep.equal(files.toReversed());
  });

  it('counts a file as quick if it takes at most one second or has no measurement', () => {
    const durations = { 'a.test.ts': 1, 'b.test.ts': 1.1 };
    expect(['a.test.ts', 'b.test.ts', 'new.test.ts'].map((file) => isQuick(file, durations))).to.deep.equal([
      true,
      false,
      true,
    ]);
  });

  it('calls a file a unit test if none of its direct or indirect imports reaches the stack', () => {
    expect(isUnitTest('test/run/files.test.ts')).to.equal(true);
    expect(isUnitTest('test/domain/webhooks/deliveries/schedule.policy.test.ts')).to.equal(true);
    expect(isUnitTest('test/api/tags.test.ts')).to.equal(false);
    expect(isUnitTest('test/dev/stack.test.ts')).to.equal(false);
  });

  it('finds that no test file of a policy needs the stack', () => {
    const policies = testFiles().filter((file) => file.endsWith('.policy.test.ts'));
    expect(policies).not.to.have.length(0);
    expect(policies.filter((file) => !isUnitTest(file))).to.deep.equal([]);
  });
});

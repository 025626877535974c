import { expect } from 'chai';
import { startArguments } from '../../dev/arguments.ts';
import { problemOf } from '../toolkit/assert/problem-of.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

describe('dev/arguments', () => {
  it('reads --fake-model, which is off by default', () => {
    expect(startArguments([])).to.deep.equal({ fakeModel: false });
    expect(startArguments(['--fake-model'])).to.deep.equal({ fakeModel: true });
  });

  it('names an unknown argument and lists the known ones', async () => {
    const there = 'There is: npm start, and npm start -- --fake-model (agents ask a fake model on this machine).';
    const wrong: Record<string, string> = {
      '--fake': "Unknown option '--fake'.",
      '--fake-model=yes': "Option '--fake-model' does not take an argument.",
      'fake-model': "Unexpected argument 'fake-model'.",
    };
    await eachCase(Object.entries(wrong), async ([given, says]) =>
      expect(await problemOf(Promise.resolve().then(() => startArguments([given])))).to.equal(`${says}\n${there}`),
    );
  });
});

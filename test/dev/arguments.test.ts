import { expect } from 'chai';
import { startArguments } from '../../dev/arguments.ts';
import { problemOf } from '../toolkit/assert/problem-of.ts';

describe('dev/arguments', () => {
  it('without any, no fake model; with --fake-model, one', () => {
    expect(startArguments([])).to.deep.equal({ fakeModel: false });
    expect(startArguments(['--fake-model'])).to.deep.equal({ fakeModel: true });
  });

  it('names what is not known, and says what there is', async () => {
    const there = 'There is: npm start, and npm start -- --fake-model (agents ask a fake model on this machine).';
    const wrong: Record<string, string> = {
      '--fake': "Unknown option '--fake'.",
      '--fake-model=yes': "Option '--fake-model' does not take an argument.",
      'fake-model': "Unexpected argument 'fake-model'.",
    };
    for (const [given, says] of Object.entries(wrong))
      expect(await problemOf(Promise.resolve().then(() => startArguments([given])))).to.equal(`${says}\n${there}`);
  });
});

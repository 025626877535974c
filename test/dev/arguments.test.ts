import { expect } from 'chai';
import { startArguments } from '../../dev/arguments.ts';
import { problemOf } from '../toolkit/assert/problem-of.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

describe('dev/arguments', () => {
  it('reads --fake-model, which is off by default', () => {
    expect(startArguments([])).to.deep.equal({ fakeModel: false, components: false, language: 'en' });
    expect(startArguments(['--fake-model'])).to.deep.equal({ fakeModel: true, components: false, language: 'en' });
  });

  it('reads --components, which makes the command only install programs', () => {
    expect(startArguments(['--components'])).to.deep.equal({ fakeModel: false, components: true, language: 'en' });
  });

  it('takes the language of the tour from --language, then from the locale, then English', () => {
    const languageOf = (args: string[], locale?: string) => startArguments(args, locale).language;
    expect(languageOf(['--language', 'pt-BR'], 'de_DE.UTF-8')).to.equal('pt-BR');
    expect(
      ['pt_BR.UTF-8', 'pt_PT', 'ar_EG.utf8', 'de_AT@euro', 'C', 'C.UTF-8', 'fr_FR.UTF-8', ''].map((locale) =>
        languageOf([], locale),
      ),
    ).to.deep.equal(['pt-BR', 'pt-BR', 'ar', 'de', 'en', 'en', 'en', 'en']);
  });

  it('reports an unknown argument and lists the known arguments', async () => {
    const there =
      'Usage: npm start, npm start -- --fake-model (agents ask a fake model on this machine), ' +
      'npm start -- --language TAG (the tour and its club speak en, pt-BR, es, de, ar), and ' +
      'npm start -- --components (only installs the programs of the stack and of the tests).';
    const wrong: Record<string, string> = {
      '--fake': "Unknown option '--fake'.",
      '--fake-model=yes': "Option '--fake-model' does not take an argument.",
      'fake-model': "Unexpected argument 'fake-model'.",
      '--language=fr': 'The service does not support the language "fr".',
    };
    await eachCase(Object.entries(wrong), async ([given, says]) =>
      expect(await problemOf(Promise.resolve().then(() => startArguments([given])))).to.equal(`${says}\n${there}`),
    );
  });
});

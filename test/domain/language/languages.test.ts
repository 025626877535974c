import { expect } from 'chai';
import { acceptedLanguage, clubLanguageOf, requireOffered } from '../../../domain/language/chosen.ts';
import { directionOf, languageOf, nearestLanguage, offeredLanguages } from '../../../domain/language/languages.ts';
import { languages as searchedLanguages } from '../../../entities/clubs/values.ts';

describe('languages', () => {
  for (const [tag, nearest] of [
    ['en', 'en'],
    ['en-US', 'en'],
    ['PT-br', 'pt-BR'],
    ['pt', 'pt-BR'],
    ['pt-PT', 'pt-BR'],
    ['ar-EG', 'ar'],
    ['de-Latn-AT', 'de'],
    ['fr', undefined],
    ['', undefined],
    ['constructor', undefined],
  ] as const)
    it(`have ${nearest ?? 'no language'} as the nearest language for "${tag}"`, () => {
      expect(nearestLanguage(tag)).to.equal(nearest);
    });

  it('are chosen in this order: the person’s language, the club’s language, English', () => {
    expect(languageOf('de', 'pt-BR')).to.equal('de');
    expect(languageOf(null, 'pt')).to.equal('pt-BR');
    expect(languageOf('fr', 'ar')).to.equal('ar');
    expect(languageOf(null, 'it')).to.equal('en');
    expect(languageOf(undefined)).to.equal('en');
  });

  it('each have a writing direction', () => {
    expect(offeredLanguages.map((language) => [language, directionOf(language)])).to.deep.equal([
      ['en', 'ltr'],
      ['pt-BR', 'ltr'],
      ['es', 'ltr'],
      ['de', 'ltr'],
      ['ar', 'rtl'],
    ]);
  });

  for (const [header, language] of [
    ['', null],
    ['*', null],
    ['pt-BR,pt;q=0.9,en;q=0.8', 'pt-BR'],
    ['fr-FR, de;q=0.5, en;q=0.7', 'en'],
    ['de;q=0, es', 'es'],
    ['fr, it', null],
    [`${'x,'.repeat(2_000)}ar`, 'ar'],
    ['\u0000;;;q=q', null],
  ] as const)
    it(`match Accept-Language ${JSON.stringify(header.slice(-30))} with ${language}`, () => {
      expect(acceptedLanguage(header)).to.equal(language);
    });

  it('are named in the refusal of a language that is not offered', () => {
    expect(() => requireOffered('fr')).to.throw('language "fr" is not offered. Send one of en, pt-BR, es, de, ar.');
    expect(() => requireOffered('PT-BR')).to.throw('is not offered');
    for (const language of [...offeredLanguages, ...searchedLanguages])
      expect(clubLanguageOf(language)).to.equal(language);
    expect(clubLanguageOf('ja')).to.equal('en');
  });
});

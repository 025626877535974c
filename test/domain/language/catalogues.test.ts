import { expect } from 'chai';
import { en } from '../../../domain/language/catalogues/en.ts';
import type { MessageKey } from '../../../domain/language/arguments.ts';
import { catalogues, offeredLanguages, type Catalogue } from '../../../domain/language/languages.ts';
import { mailTemplateNames } from '../../../entities/mail/values.ts';
import { catalogueProblems, unusedKeys } from '../../../dev/generators/catalogues.ts';
import { projectDirectory } from '../../../dev/project.ts';

const keys = Object.keys(en) as MessageKey[];
const messagesOf = (language: (typeof offeredLanguages)[number]): Catalogue => catalogues[language].messages;

describe('message catalogues', () => {
  for (const language of offeredLanguages)
    it(`have every message in ${language}, with its arguments and plural forms`, () => {
      expect(catalogueProblems(language, messagesOf(language))).to.deep.equal([]);
    });

  it('have no unused message', () => {
    expect(unusedKeys(projectDirectory)).to.deep.equal([]);
  });

  it('have mail texts only for existing templates', () => {
    const templates = new Set<string>(mailTemplateNames);
    const parts = keys.filter((key) => /^mail\.[a-z_]+\./.test(key)).map((key) => key.split('.')[1] ?? '');
    expect(parts.filter((template) => !templates.has(template))).to.deep.equal([]);
  });

  /** These messages are equal in English and in the other language. */
  const same: Readonly<Record<string, readonly MessageKey[]>> = {
    'pt-BR': ['time.zone_with_offset', 'erasure.total'],
    es: ['time.zone_with_offset', 'erasure.subject.club', 'erasure.total'],
    de: [
      'test_mail.subject',
      'time.zone_with_offset',
      'certificate.version',
      'certificate.code',
      'erasure.subject.club',
    ],
    ar: [],
  };
  for (const language of offeredLanguages.filter((each) => each !== 'en'))
    it(`translate every message to ${language}, except the listed messages`, () => {
      const untranslated = keys.filter((key) => messagesOf(language)[key] === en[key]);
      expect(untranslated).to.deep.equal(same[language]);
    });

  /** Every other language spells these words differently. */
  const englishWords = /\b(?:the|your|you|of|with|were|have|this|that|please|nothing|waiting)\b/i;
  for (const language of offeredLanguages.filter((each) => each !== 'en'))
    it(`have no English word inside sentences in ${language}`, () => {
      const found = keys.filter((key) => englishWords.test(messagesOf(language)[key].replaceAll(/\{[a-z_]+,?/g, '')));
      expect(found).to.deep.equal([]);
    });
});

describe('the check of catalogues', () => {
  const changed = (change: Record<string, string>): Record<string, string> => ({ ...en, ...change });

  for (const [title, language, catalogue, problem] of [
    ['an unknown key', 'en', changed({ 'mail.nothing': 'x' }), 'en: mail.nothing is unknown.'],
    [
      'an argument that the English message does not have',
      'de',
      changed({ 'mail.greeting': 'Hallo {who},' }),
      'de: mail.greeting has the arguments who (string) instead of name (string).',
    ],
    [
      'a missing argument',
      'de',
      changed({ 'mail.greeting': 'Hallo,' }),
      'de: mail.greeting has the arguments  instead of name (string).',
    ],
    [
      'a missing plural form of the language',
      'ar',
      changed({ 'certificate.lessons': '{count, plural, one {درس} other {# درس}}' }),
      'ar: certificate.lessons lacks the plural forms zero, two, few, many.',
    ],
    [
      'a missing option',
      'de',
      changed({ 'unsubscribe.action': '{kind, select, other {Abbestellen}}' }),
      'de: unsubscribe.action has other options than the English message.',
    ],
  ] as const)
    it(`reports ${title}`, () => {
      expect(catalogueProblems(language, catalogue)).to.include(problem);
    });

  it('reports a missing key', () => {
    const { 'mail.greeting': _, ...rest } = en;
    expect(catalogueProblems('en', rest)).to.deep.equal(['en: mail.greeting is missing.']);
  });

  it('reports a text that is not an ICU message', () => {
    const [problem] = catalogueProblems('en', changed({ 'mail.greeting': 'Hello {name' }));
    expect(problem).to.match(/^en: mail\.greeting is no ICU message: /);
  });

  it('reports a key that no code uses', () => {
    const composed = 'mail.student_code.subject';
    expect(unusedKeys(projectDirectory, ['mail.greeting', 'mail.of_nobody', composed])).to.deep.equal([
      'mail.of_nobody',
    ]);
  });
});

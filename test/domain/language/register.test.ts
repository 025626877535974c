/** Checks the punctuation, the form of address and the whole sentences of each language. */
import { expect } from 'chai';
import { en } from '../../../domain/language/catalogues/en.ts';
import type { MessageKey } from '../../../domain/language/arguments.ts';
import { catalogues, offeredLanguages, type OfferedLanguage } from '../../../domain/language/languages.ts';
import { wordingIn } from '../../../domain/language/wording.ts';

const keys = Object.keys(en) as MessageKey[];

/** The languages have different plural forms for these counts. */
const counts = [1, 2, 3, 11, 100] as const;

/** The choice `yes` includes the optional parts of sentences. */
const valuesWith = (language: OfferedLanguage, choice: 'yes' | 'no', count: number, kind: string) => {
  const at = new Date('2026-03-02T08:00:00Z');
  const { day, moment, zone } = wordingIn(language);
  return {
    name: 'Ana',
    club: 'Harbour',
    code: '012345',
    device: 'Firefox (Windows)',
    network: '203.0.113.0/24',
    url: 'https://crm.example.com/hooks',
    lesson: 'Bends',
    title: 'Rigging',
    person: 'Noa',
    subject: 'Regatta',
    campaign: 'Regatta',
    version: '2',
    offset: 'GMT+1',
    time: '09:00',
    bytes: 1_234_567,
    day: day(at, 'Europe/Berlin'),
    at: moment(at, 'Europe/Berlin'),
    zone: zone(at, 'Europe/Berlin'),
    has_lesson: choice,
    has_title: choice,
    has_person: choice,
    count,
    minutes: count,
    least: '8',
    id: '0198f0a4',
    kind,
  };
};

/** In all variants of the values. */
function sentencesIn(language: OfferedLanguage): { key: MessageKey; text: string }[] {
  const say = wordingIn(language).say as (key: MessageKey, values: object) => string;
  const variants = counts.flatMap((count) =>
    (['yes', 'no'] as const).flatMap((choice) =>
      ['campaigns', 'automations', 'digests'].map((kind) => valuesWith(language, choice, count, kind)),
    ),
  );
  return keys.flatMap((key) => [...new Set(variants.map((values) => say(key, values)))].map((text) => ({ key, text })));
}

/** Lines such as `es: mail.greeting: Hola`. */
const faultsIn = (language: OfferedLanguage, isFaulty: (text: string, key: MessageKey) => boolean) =>
  sentencesIn(language)
    .filter(({ key, text }) => isFaulty(text, key))
    .map(({ key, text }) => `${language}: ${key}: ${text}`);

/** The language writes these marks differently. */
const foreignMarks: Readonly<Record<OfferedLanguage, RegExp>> = {
  en: /["„«»]/,
  'pt-BR': /["„«»]/,
  es: /["„“”]|(?<![¿][^?]*)\?|(?<![¡][^!]*)!/,
  de: /["«»”]/,
  ar: /["„“”?;]|,(?!\d)/,
};

/** These words belong to another form of address or another region. */
const otherRegister: Readonly<Partial<Record<OfferedLanguage, RegExp>>> = {
  'pt-BR': /(?<!\p{L})(?:tu|teu|tua|teus|tuas|lhe|vós|senhor|senhora|registo|ficheiro|ecrã)(?!\p{L})/iu,
  es: /(?<!\p{L})(?:usted|ustedes|vosotros|vosotras|os|vuestr[oa]s?|vos|\p{L}+[áéí]is)(?!\p{L})/iu,
  de: /(?<!\p{L})(?:Ihnen|Ihr|Ihre[mnrs]?)(?!\p{L})/u,
  // These forms address only a man.
  ar: /(?<!\p{L})(?:تريد|تجد|تطلبها|تستطيع|اضغط|افتح|اقرأ|عزيزي)(?!\p{L})/u,
};

/** These texts are only parts of lines. For example, `mail.student_without_name` follows a greeting word. */
const isInsideLine = /^(?:mail\.student_without_name|time\.|certificate\.(?:has_completed|completed_on))/;

describe('the words of the catalogues', () => {
  for (const language of offeredLanguages) {
    it(`use the punctuation of ${language}`, () => {
      expect(faultsIn(language, (text) => foreignMarks[language].test(text))).to.deep.equal([]);
    });

    it(`address people in the same form in ${language}`, () => {
      expect(faultsIn(language, (text) => otherRegister[language]?.test(text) ?? false)).to.deep.equal([]);
    });

    it(`have no double space and no space before a punctuation mark in ${language}`, () => {
      const gap = /^ | $| {2}| [.,;:!?،؟؛]|\.\.|[„«¿¡] | [”»]/;
      expect(faultsIn(language, (text) => gap.test(text))).to.deep.equal([]);
    });

    it(`end each paragraph with a full stop in ${language}`, () => {
      // The message ends with the request's id, so that a person can copy it.
      const isText = (key: MessageKey) => /\.text$|^(?:answer|refusal)\.(?!internal_error$)/.test(key);
      const isOpen = (text: string) => text.split('\n\n').some((paragraph) => !/[.!?؟]$/.test(paragraph));
      expect(faultsIn(language, (text, key) => isText(key) && isOpen(text))).to.deep.equal([]);
    });

    it(`begin with a capital letter in ${language}`, () => {
      const isSmall = (text: string) => text.split('\n\n').some((paragraph) => /^[“„«¿¡]?\p{Ll}/u.test(paragraph));
      const isLine = (text: string, key: MessageKey) => isInsideLine.test(key) || text.startsWith('https://');
      expect(faultsIn(language, (text, key) => !isLine(text, key) && isSmall(text))).to.deep.equal([]);
    });
  }

  it('contain no digits 1 and 2 in Arabic, which has number forms for one and two', () => {
    const counted = keys.filter((key) => catalogues.ar.messages[key].includes('count, plural'));
    const say = wordingIn('ar').say as (key: MessageKey, values: object) => string;
    for (const key of counted)
      for (const count of [1, 2])
        expect(say(key, { count, club: 'نادي', least: '8' }), key).to.not.match(/(?<!\d)[12](?!\d)/);
  });
});

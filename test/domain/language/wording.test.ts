import { expect } from 'chai';
import fc from 'fast-check';
import { dirAttribute, directionOfText, isolated } from '../../../domain/language/bidi.policy.ts';
import { offeredLanguages } from '../../../domain/language/languages.ts';
import { wordingIn } from '../../../domain/language/wording.ts';

describe('wording', () => {
  it('inserts values, and uses the plural form of the language', () => {
    expect(wordingIn('en').say('digest.subject', { count: 1, club: 'Knots' })).to.equal('1 new post at Knots');
    expect(wordingIn('pt-BR').say('digest.subject', { count: 2, club: 'Nós' })).to.equal('2 novas publicações em Nós');
    expect([1, 2, 3, 11, 100].map((count) => wordingIn('ar').say('certificate.lessons', { count }))).to.deep.equal([
      'درس واحد',
      'درسان',
      '3 دروس',
      '11 درسًا',
      '100 درس',
    ]);
  });

  it('isolates only values that have the opposite writing direction', () => {
    expect(wordingIn('ar').say('mail.greeting', { name: 'Ada' })).to.equal('مرحبًا \u2068Ada\u2069،');
    expect(wordingIn('ar').say('mail.greeting', { name: 'ليلى' })).to.equal('مرحبًا ليلى،');
    expect(wordingIn('en').say('mail.greeting', { name: 'ליאור' })).to.equal('Hello \u2068ליאור\u2069,');
    expect(wordingIn('en').say('mail.greeting', { name: '小明' })).to.equal('Hello 小明,');
  });

  it('chooses a text by the value of an option, in every language', () => {
    for (const language of offeredLanguages) {
      const { say } = wordingIn(language);
      const actions = ['campaigns', 'automations', 'digests'].map((kind) => say('unsubscribe.action', { kind }));
      expect(new Set(actions).size, language).to.equal(3);
    }
    expect(wordingIn('ar').say('unsubscribe.action', { kind: 'campaigns' })).to.equal('إيقاف الأخبار');
    expect(
      wordingIn('ar').say('mail.assignment_approved.text', { club: 'نادي', has_lesson: 'yes', lesson: 'Bends' }),
    ).to.equal('قبِل نادي الواجب الذي سلّمته في درس «\u2068Bends\u2069».');
  });

  it('treats tags and braces in values as plain text', () => {
    for (const name of ['<b>Ada</b>', '{name}', "it's {x} <y>"])
      expect(wordingIn('de').say('mail.greeting', { name })).to.equal(`Hallo ${name},`);
  });

  const summer = new Date('2026-10-25T00:30:00Z');
  const winter = new Date('2026-10-25T01:30:00Z');
  for (const [language, moment] of [
    ['en', 'Monday, 2 March 2026 at 09:00 (Central European Time)'],
    ['pt-BR', 'segunda-feira, 2 de março de 2026 às 09:00 (Horário da Europa Central)'],
    ['es', 'lunes, 2 de marzo de 2026 a las 09:00 (hora de Europa central)'],
    ['de', 'Montag, 2. März 2026 um 09:00 Uhr (Mitteleuropäische Zeit)'],
    ['ar', 'الاثنين، 2 مارس 2026 الساعة 09:00 ص (توقيت وسط أوروبا)'],
  ] as const)
    it(`shows a moment in ${language} with the name of the zone`, () => {
      expect(wordingIn(language).moment(new Date('2026-03-02T08:00:00Z'), 'Europe/Berlin')).to.equal(moment);
    });

  it('shows the offset from UTC only if the local hour occurs twice', () => {
    const { moment, shortMoment } = wordingIn('en');
    expect(moment(summer, 'Europe/Berlin')).to.contain('at 02:30 (Central European Time, GMT+2)');
    expect(moment(winter, 'Europe/Berlin')).to.contain('at 02:30 (Central European Time, GMT+1)');
    expect(shortMoment(winter, 'Europe/Berlin')).to.equal('25 October at 02:30 (GMT+1)');
    expect(moment(new Date('2026-10-25T02:30:00Z'), 'Europe/Berlin')).to.not.contain('GMT');
    expect(moment(summer, 'America/Sao_Paulo')).to.not.contain('GMT');
    // The clocks of Lord Howe change by half an hour, and Postgres and Node use different names for the zone.
    expect(shortMoment(new Date('2026-04-04T15:15:00Z'), 'Australia/Lord_Howe')).to.match(/01:45 \(GMT\+10:30\)$/);
  });

  it('names a zone by its IANA name if the language has no word for it', () => {
    expect(wordingIn('de').zone(summer, 'UTC')).to.equal('UTC');
    expect(wordingIn('pt-BR').zone(summer, 'America/Sao_Paulo')).to.equal('Horário Padrão de Brasília');
  });

  it('shows the date of the day in the given zone', () => {
    const evening = new Date('2026-03-02T23:30:00Z');
    expect(wordingIn('pt-BR').day(evening, 'UTC')).to.equal('2 de março de 2026');
    expect(wordingIn('pt-BR').day(evening, 'Europe/Berlin')).to.equal('3 de março de 2026');
  });
});

describe('writing directions', () => {
  for (const [text, direction] of [
    ['Ahoy', 'ltr'],
    ['קשר 8', 'rtl'],
    ['12 عقدة', 'rtl'],
    ['結び目', 'ltr'],
    ['😀 123', undefined],
    ['', undefined],
  ] as const)
    it(`are ${direction ?? 'none'} for ${JSON.stringify(text)}`, () => {
      expect(directionOfText(text)).to.equal(direction);
    });

  it('are written as an attribute only if they differ from the document’s direction', () => {
    expect(dirAttribute('Ahoy', 'ltr')).to.equal('');
    expect(dirAttribute('Ahoy', 'rtl')).to.equal(' dir="ltr"');
    expect(dirAttribute('123', 'rtl')).to.equal('');
  });

  it('put a value between Unicode isolate characters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom('ltr' as const, 'rtl' as const),
        (value, direction) => {
          const text = isolated(value, direction);
          return text === value || text === `\u2068${value}\u2069`;
        },
      ),
    );
  });
});

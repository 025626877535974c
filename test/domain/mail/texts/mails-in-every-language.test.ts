/** Tests every mail in every language, with names in every script. */
import { expect } from 'chai';
import { offeredLanguages } from '../../../../domain/language/languages.ts';
import { wordingIn } from '../../../../domain/language/wording.ts';
import { renderMail, type MailContext } from '../../../../domain/mail/texts/rendering.ts';
import { mailTemplates } from '../../../../domain/mail/texts/templates.ts';
import { mailTemplateNames, type MailTemplate } from '../../../../entities/mail/values.ts';
import { icalendarOf } from '../../../../platform/core/time/calendar.policy.ts';
import { eachCase } from '../../../toolkit/assert/each-case.ts';

const names = [
  'Zoë O’Neill',
  'Ελένη',
  'Юлия',
  'ليلى الحسن',
  'שרה כהן',
  'अनिता शर्मा',
  'অনিতা',
  'அனிதா',
  'สมชาย ใจดี',
  '王小明',
  '陳大文',
  '山田 太郎',
  '김민준',
  'A\u0308da 🎉',
  '<b>Ada</b> & "co"',
];
const link = 'https://harbour.example.com/x?token=T&a=b';
const session = { startsAt: new Date('2026-03-02T08:00:00Z'), timeZone: 'Europe/Berlin', reason: '' };
const contextOf = (name: string): MailContext => ({
  name,
  clubName: name,
  link,
  code: '012345',
  endpointUrl: 'https://crm.example.com/hooks',
  lessonTitle: name,
  session: { ...session, title: name, withWhom: name },
});
const withoutIsolates = (text: string) => text.replaceAll(/[\u2068\u2069]/g, '');
const unescaped = (html: string) =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
const cases = offeredLanguages.flatMap((language) =>
  mailTemplateNames.map((template) => [language, template] as const),
);
const structureOf = (html: string) => [...html.matchAll(/<(\/?[a-z]\w*)/g)].map(([, tag]) => tag).join(' ');
const hasLink = (template: MailTemplate) => !('withCode' in mailTemplates[template]);

describe('mails in every language', () => {
  it('contain every name unchanged, in text and HTML', () =>
    eachCase(cases, async ([language, template]) => {
      for (const name of names) {
        const { text, html } = renderMail(template, contextOf(name), wordingIn(language));
        expect(withoutIsolates(text), `${language} ${template}`).to.contain(name);
        expect(unescaped(withoutIsolates(html)), `${language} ${template}`).to.contain(name);
        expect(text).to.not.match(/[{}]|undefined|null/);
      }
    }));

  it('have the structure, the links and the codes of the English mails', () =>
    eachCase(cases, async ([language, template]) => {
      const context = contextOf('Ada');
      const english = renderMail(template, context, wordingIn('en'));
      const { text, html } = renderMail(template, context, wordingIn(language));
      expect(structureOf(html), `${language} ${template}`).to.equal(structureOf(english.html));
      expect(html).to.contain(`<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`);
      expect(text.includes(link)).to.equal(hasLink(template));
      expect(html.includes('href="https://harbour.example.com/x?token=T&amp;a=b"')).to.equal(hasLink(template));
      expect(text.includes('012345')).to.equal(!hasLink(template));
    }));

  it('contain no sentence of the English mail', () =>
    eachCase(
      cases.filter(([language]) => language !== 'en'),
      async ([language, template]) => {
        const sentences = (text: string) => text.split(/\n+|(?<=[.!?:])\s/).filter((part) => /\p{L}{3}/u.test(part));
        const plain = { ...contextOf('王'), session: { ...session, title: '王', withWhom: '王' } };
        const english = new Set(sentences(renderMail(template, plain, wordingIn('en')).text));
        const { text } = renderMail(template, plain, wordingIn(language));
        const shared = sentences(withoutIsolates(text)).filter((sentence) => english.has(sentence));
        expect(
          shared.filter((sentence) => !sentence.startsWith('https://')),
          `${language} ${template}`,
        ).to.deep.equal([]);
      },
    ));

  it('contain names in calendar entries that another parser reads unchanged', () => {
    for (const name of names) {
      const event = {
        method: 'REQUEST',
        id: 'x',
        sequence: 1,
        startsAt: session.startsAt,
        endsAt: session.startsAt,
      } as const;
      const long = `${name}, ${name}; ${name}`.repeat(5);
      const text = icalendarOf({ ...event, summary: long, stamp: session.startsAt }, 'a@example.com', 'b@example.com');
      expect(text.split('\r\n').every((line) => Buffer.byteLength(line) <= 75)).to.equal(true);
      const summary = /^SUMMARY:(.*)$/m.exec(text.replaceAll('\r\n ', ''))?.[1] ?? '';
      expect(summary.trimEnd().replaceAll(/\\([\\;,])/g, '$1')).to.equal(long);
    }
  });
});

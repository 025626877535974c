import { expect } from 'chai';
import { tokenLifetimeMs } from '../../../../domain/mail/codes/one-time-tokens.ts';
import type { MailTemplate } from '../../../../entities/mail/values.ts';
import { wordingIn } from '../../../../domain/language/wording.ts';
import { renderMail, type MailContext } from '../../../../domain/mail/texts/rendering.ts';
import { mailTemplates } from '../../../../domain/mail/texts/templates.ts';

const context = {
  endpointUrl: 'https://crm.example.com/hooks',
  lessonTitle: 'Bends',
  session: {
    title: 'Rigging clinic',
    startsAt: new Date('2026-03-02T08:00:00Z'),
    timeZone: 'Europe/Berlin',
    withWhom: 'Grace',
    reason: 'The mentor is ill.',
  },
  name: 'Ada',
  clubName: 'Harbour',
  link: 'https://harbour.example.com/x?token=T&a=b',
  code: '012345',
};
const english = wordingIn('en');
const rendered = (template: MailTemplate, given: MailContext) => renderMail(template, given, english);
const names = Object.keys(mailTemplates) as MailTemplate[];
const hostile = `<b onclick="x('y')">&`;
const escaped = '&lt;b onclick=&quot;x(&#39;y&#39;)&quot;&gt;&amp;';

describe('mail templates', () => {
  for (const name of names) {
    it(`greet by name, and contain a link or code: ${name}`, () => {
      const { subject, text, html } = rendered(name, context);
      expect(subject).to.have.length.within(5, 120);
      expect(text).to.match(/^Hello Ada,\n\n/);
      expect(html).to.include('<p>Hello Ada,</p>');
      const isCode = name === 'student_code' || name === 'administrator_identity_code';
      expect(text.includes(context.link)).to.equal(!isCode);
      expect(html.includes('https://harbour.example.com/x?token=T&amp;a=b')).to.equal(!isCode);
      expect(text.includes('012345')).to.equal(isCode);
      expect(text).to.not.match(/\{|undefined|null/);
    });

    it(`escape hostile names, and keep the subject on one line: ${name}`, () => {
      const { subject, html } = rendered(name, { ...context, name: hostile, clubName: `${hostile}\r\nBcc: x\n` });
      expect(html).to.not.include('<b ');
      expect(html).to.include(escaped);
      expect(subject).to.not.match(/[\r\n]/);
    });
  }

  it('greet without a name if no name of the recipient is known', () => {
    expect(rendered('administrator_invitation', { ...context, name: '' }).text).to.match(/^Hello,\n/);
  });

  it('state how long their tokens last', () => {
    const hours = { student_verify_email: 24, administrator_verify_email: 24, student_reset_password: 1 } as const;
    for (const [name, lifetime] of Object.entries(hours)) {
      expect(tokenLifetimeMs[name as keyof typeof hours], name).to.equal(lifetime * 3_600_000);
      expect(rendered(name as keyof typeof hours, context).text, name).to.match(
        lifetime === 24 ? /24 hours/ : /next hour/,
      );
    }
    expect(tokenLifetimeMs.student_code).to.equal(10 * 60_000);
    expect(rendered('student_code', context).text).to.include('10 minutes');
    for (const name of ['student_invitation', 'administrator_invitation'] as const) {
      expect(tokenLifetimeMs[name], name).to.equal(7 * 24 * 3_600_000);
      expect(rendered(name, context).text, name).to.include('7 days');
    }
  });

  it('state that the recipient can ignore the mail', () => {
    for (const name of ['student_verify_email', 'student_reset_password', 'administrator_verify_email'] as const) {
      expect(rendered(name, context).text, name).to.include('you can ignore this message');
    }
  });
});

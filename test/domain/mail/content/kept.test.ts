import { expect } from 'chai';
import type { CompiledEmail } from '../../../../domain/mail/content/compile.ts';
import type { EmailContent } from '../../../../domain/mail/content/email-content.ts';
import { keepCompiled } from '../../../../domain/mail/content/kept.ts';

describe('e-mails that are looked at', () => {
  const letterhead = { clubName: 'Club', postalAddress: 'Street 1' };
  const content = (subject: string): EmailContent => ({ subject, blocks: [] });
  const compiled = (...html: string[]): CompiledEmail => ({ subject: [], html, text: [], links: [], images: [] });

  it('are compiled once for each content and letterhead, however many look at once', async () => {
    const asked: string[] = [];
    const compile = keepCompiled(({ subject }, { clubName }) => {
      asked.push(`${subject} of ${clubName}`);
      return Promise.resolve(compiled(subject));
    });
    const answers = await Promise.all([1, 2, 3].map(() => compile(content('One'), letterhead)));
    answers.push(await compile(content('One'), { ...letterhead }));
    expect(answers.map(({ html }) => html)).to.deep.equal([['One'], ['One'], ['One'], ['One']]);
    await compile(content('Two'), letterhead);
    await compile(content('One'), { ...letterhead, clubName: 'Other' });
    expect(asked).to.deep.equal(['One of Club', 'Two of Club', 'One of Other']);
  });

  it('are compiled again after a failure, and where there were too many since', async () => {
    const asked: string[] = [];
    const compile = keepCompiled(({ subject }) => {
      asked.push(subject);
      if (asked.length === 1) return Promise.reject(new Error('away'));
      return Promise.resolve(compiled('x'.repeat(9_000_000)));
    });
    const failed = await compile(content('One'), letterhead).catch((error: Error) => error.message);
    expect(failed).to.equal('away');
    for (const subject of ['One', 'Two', 'Three', 'Three', 'One']) await compile(content(subject), letterhead);
    expect(asked).to.deep.equal(['One', 'One', 'Two', 'Three', 'One']);
  });
});

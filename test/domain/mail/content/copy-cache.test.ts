import { expect } from 'chai';
import type { CopiesToMake, RenderedCopy } from '../../../../domain/mail/content/email-thread.ts';
import { cacheCopies } from '../../../../domain/mail/content/copy-cache.ts';

describe('the cache of rendered copies for previews', () => {
  const copies = (subject: string, more: Partial<CopiesToMake> = {}): CopiesToMake => ({
    content: { subject, blocks: [] },
    letterhead: { clubName: 'Club', postalAddress: 'Street 1', language: 'en' },
    imageUrls: {},
    recipients: [{}],
    unsubscribeUrl: '#',
    mostBytes: 1_000,
    ...more,
  });
  const rendered = (html: string): RenderedCopy => ({ subject: 'News', body: { html, text: '' }, htmlBytes: 1 });

  it('renders once for each club, content, letterhead and recipient', async () => {
    const renderedCopies: string[] = [];
    const make = cacheCopies((clubId, { content, letterhead, recipients }) => {
      renderedCopies.push([clubId, content.subject, letterhead.clubName, JSON.stringify(recipients)].join(' '));
      return Promise.resolve([rendered(content.subject)]);
    });
    const answers = await Promise.all([1, 2, 3].map(() => make('a', copies('One'))));
    answers.push(await make('a', copies('One')));
    expect(answers).to.deep.equal(Array.from({ length: 4 }, () => [rendered('One')]));
    await make('b', copies('One'));
    await make('a', copies('Two'));
    await make('a', copies('One', { letterhead: { clubName: 'Other', postalAddress: 'Street 1', language: 'en' } }));
    await make('a', copies('One', { recipients: [{ student_name: 'Ada' }] }));
    expect(renderedCopies).to.deep.equal([
      'a One Club [{}]',
      'b One Club [{}]',
      'a Two Club [{}]',
      'a One Other [{}]',
      'a One Club [{"student_name":"Ada"}]',
    ]);
  });

  it('renders again if an image changes, but not for a new signature of its URL', async () => {
    let renderings = 0;
    const make = cacheCopies(() => Promise.resolve([rendered(String((renderings += 1)))]));
    await make('a', copies('One', { imageUrls: { one: 'https://files/one?signature=1' } }));
    await make('a', copies('One', { imageUrls: { one: 'https://files/one?signature=2' } }));
    expect(renderings).to.equal(1);
    await make('a', copies('One', { imageUrls: { two: 'https://files/two?signature=1' } }));
    await make('a', copies('One', { imageUrls: { two: 'https://files/three?signature=1' } }));
    expect(renderings).to.equal(3);
  });

  it('renders again after a failure or an eviction', async () => {
    const renderedCopies: string[] = [];
    const make = cacheCopies((_, { content: { subject } }) => {
      renderedCopies.push(subject);
      if (renderedCopies.length === 1) return Promise.reject(new Error('away'));
      return Promise.resolve([rendered('x'.repeat(9_000_000))]);
    });
    const failed = await make('a', copies('One')).catch((error: Error) => error.message);
    expect(failed).to.equal('away');
    for (const subject of ['One', 'Two', 'Three', 'Three', 'One']) await make('a', copies(subject));
    expect(renderedCopies).to.deep.equal(['One', 'One', 'Two', 'Three', 'One']);
  });
});

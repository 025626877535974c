import { expect } from 'chai';
import { prepareLayout, type Layout } from '../../../../domain/community/digests/layout.ts';
import type { NewPost, NewsOfSpace } from '../../../../domain/community/digests/news.ts';
import { plainLine, wordsOf } from '../../../../domain/community/digests/words.ts';

const unsubscribeUrl = 'https://api.example/v1/clubs/c/classroom/mail/unsubscribe/t';

const post = (more: Partial<NewPost> = {}): NewPost => ({
  id: 'p',
  publicId: 'bowline',
  title: 'The bowline holds',
  body: 'It *finally* holds.',
  author: 'Ada',
  at: new Date('2026-03-02T06:20:00Z'),
  ...more,
});
const space = (more: Partial<NewsOfSpace> = {}): NewsOfSpace => ({
  id: 's',
  name: 'The Quay',
  count: 1,
  posts: [post()],
  ...more,
});

describe('the mail of a digest (COMM-18)', () => {
  let layout: Layout;
  before(async () => {
    layout = await prepareLayout();
  });
  const mail = (spaces: readonly NewsOfSpace[] = [space()], more: Partial<Parameters<Layout>[0]> = {}) =>
    layout({
      news: { spaces, moreSpaces: 0 },
      clubName: 'Knots',
      letterhead: { clubName: 'Knots & Co', postalAddress: 'Quay 1\nHarbour', language: 'en' },
      classroom: 'https://knots.classroom.example',
      timeZone: 'Asia/Kathmandu',
      unsubscribeUrl,
      ...more,
    });

  it('names and links the space and the post, with the time in the club’s zone', () => {
    const { subject, text, html } = mail();
    expect(subject).to.equal('1 new post at Knots');
    expect(text).to.equal(`1 new post at Knots

The Quay
https://knots.classroom.example/community/spaces/s

The bowline holds
It finally holds.
Ada · 2 March at 12:05
https://knots.classroom.example/community/posts/bowline

-- 
Knots & Co
Quay 1
Harbour

You get this daily e-mail because you or your club switched it on for these spaces. Times are in Nepal Time.
Unsubscribe: ${unsubscribeUrl}
`);
    for (const address of [
      'https://knots.classroom.example/community/spaces/s',
      'https://knots.classroom.example/community/posts/bowline',
      unsubscribeUrl,
    ])
      expect(html).to.contain(`href="${address}"`);
    // A right-to-left name must not change the order of the characters in the time after it.
    expect(html).to.contain('<bdi>Ada</bdi> · 2 March at 12:05');
    expect(html).to.contain('Knots &amp; Co<br>Quay 1<br>Harbour').and.to.contain('max-width');
    expect(html).to.not.match(/[\uE000-\uE0FF]|\{\{/);
  });

  it('escapes every text that a person entered, and removes line breaks from the subject', () => {
    const evil = '<script>alert("1")</script>';
    const { subject, html } = mail(
      [space({ name: evil, posts: [post({ title: evil, body: evil, author: evil, publicId: 'x' })] })],
      {
        clubName: `${evil}\r\nBcc: all@example.com`,
        letterhead: { clubName: evil, postalAddress: evil, language: 'en' },
      },
    );
    expect(subject).to.equal(`1 new post at ${evil} Bcc: all@example.com`);
    expect(html).to.not.contain('<script>');
    expect(html.split('&lt;script&gt;').length - 1).to.equal(8);
  });

  it('links a post without a title by its text, and counts the omitted posts', () => {
    const { subject, text, html } = mail(
      [
        space({
          count: 7,
          posts: [post({ title: null }), post({ title: null, body: '![](https://x.example/a.png)' })],
        }),
      ],
      { news: { spaces: [space({ count: 7, posts: [post({ title: null })] })], moreSpaces: 2 } },
    );
    expect(subject).to.equal('7 new posts at Knots');
    expect(html).to.match(/<a href="[^"]+\/posts\/bowline">It finally holds\.<\/a>/);
    expect(text).to.contain('6 more new posts').and.to.contain('There are new posts in 2 more spaces.');
    expect(mail([space({ posts: [post({ title: null, body: '![](a.png)' })] })]).html).to.contain(
      'A post without words',
    );
    const many = mail([space({ count: 100 })]);
    expect(many.subject).to.equal('100 new posts at Knots');
    expect(many.text).to.contain('At least 99 more new posts');
  });
});

describe('the text of a post (COMM-18)', () => {
  for (const [markdown, words] of [
    ['# Knots\n\nIt *finally* **holds**, `always`.', 'Knots It finally holds, always.'],
    ['- one\n- two\n\n> three', 'one two three'],
    ['[the course](https://evil.example/x) and ![a boat](https://x.example/b.png)', 'the course and a boat'],
    ['see https://evil.example/x?a=b, or www.evil.example.', 'see [link] or [link]'],
    ['<https://evil.example> <b onclick=x>bold</b>', '[link] <b onclick=x>bold</b>'],
    ['```js\nlet x = 1;\n```', 'let x = 1;'],
    ['a\u202Eb\u0007c', 'a b c'],
    ['', ''],
  ] as const)
    it(`shows ${JSON.stringify(markdown)} as ${JSON.stringify(words)}`, () => {
      expect(wordsOf(markdown, 280)).to.equal(words);
    });

  it('is cut between words if possible, and otherwise between characters', () => {
    expect(wordsOf('one two three', 9)).to.equal('one two…');
    expect(wordsOf('one two three', 13)).to.equal('one two three');
    expect(plainLine('👩‍👩‍👧'.repeat(5), 3)).to.equal('👩‍👩‍👧👩‍👩‍👧…');
  });
});

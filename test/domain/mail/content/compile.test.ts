import { expect } from 'chai';
import fc from 'fast-check';
import { parseDocument } from 'htmlparser2';
import { compileEmail } from '../../../../domain/mail/content/compile.ts';
import type { EmailBlock } from '../../../../domain/mail/content/email-content.ts';
import { renderEmail, type RecipientCopy } from '../../../../domain/mail/content/render.ts';

const letterhead = { clubName: 'Knots & Co', postalAddress: 'Quay 1\nHarbour', language: 'en' };
const copy: RecipientCopy = {
  values: {
    student_first_name: 'Ada',
    student_name: 'Ada <Example>',
    student_email: 'ada&co@example.com',
    club_name: 'Knots & Co',
  },
  linkUrl: (link) => `https://links.example/${link}?a=1&b=2`,
  imageUrl: (image) => `https://images.example/${image}`,
  unsubscribeUrl: 'https://leave.example/t',
  pixelUrl: 'https://pixel.example/t',
};
const rendered = async (blocks: EmailBlock[], more: Partial<RecipientCopy> = {}, subject = 'Knots') =>
  renderEmail(await compileEmail({ subject, blocks }, letterhead), { ...copy, ...more });

interface Node {
  name?: string;
  data?: string;
  type?: string;
  attribs?: Record<string, string>;
  children?: Node[];
}
const nodesOf = (html: string) => {
  const all: Node[] = [];
  const walk = (node: Node) => {
    all.push(node);
    for (const child of node.children ?? []) walk(child);
  };
  walk(parseDocument(html));
  return all;
};
const hrefsOf = (html: string) =>
  nodesOf(html).flatMap(({ name, attribs }) => (name === 'a' ? [attribs?.['href']] : []));
const wordsOf = (html: string) =>
  nodesOf(html)
    .flatMap(({ type, data }) => (type === 'text' ? [data ?? ''] : []))
    .join('');

describe('a compiled and rendered e-mail', () => {
  it('has a text version with each kind of block, the footer and the unsubscribe link', async () => {
    const { text } = await rendered([
      { kind: 'heading', text: 'Ahoy {{student_first_name}}' },
      { kind: 'text', text: 'One *two* **three** [four](https://example.com/4)  \nfive\n\n1. a\n2. b\n   - c' },
      { kind: 'image', media_id: 'm', alt: 'A knot', url: 'https://example.com/4' },
      { kind: 'divider' },
      { kind: 'button', text: 'Begin', url: 'https://example.com/b' },
    ]);
    expect(text).to.equal(
      [
        'Ahoy Ada',
        'One two three four (https://links.example/0?a=1&b=2)\nfive',
        '1. a\n2. b\n   - c',
        '[A knot] https://links.example/0?a=1&b=2',
        '----------',
        'Begin: https://links.example/1?a=1&b=2',
        '-- \nKnots & Co\nQuay 1\nHarbour',
        'Unsubscribe: https://leave.example/t\n',
      ].join('\n\n'),
    );
  });

  it('states the text direction of the document, and of each block that has the other direction', async () => {
    const blocks: EmailBlock[] = [
      { kind: 'heading', text: '{{student_first_name}} קשר' },
      { kind: 'text', text: 'Ahoy\n\n- קשר\n- Bowline\n   - x\n\nשלום **{{student_name}}**' },
    ];
    // The compiler repeats the direction on the outermost element.
    const dirsOf = (html: string) =>
      nodesOf(html).flatMap(({ name, attribs }) =>
        attribs?.['dir'] === undefined || name === 'div' ? [] : [`${name} ${attribs['dir']}`],
      );
    const inEnglish = renderEmail(await compileEmail({ subject: 'x', blocks }, letterhead), copy).html;
    expect(dirsOf(inEnglish)).to.deep.equal(['html ltr', 'h2 rtl', 'ul rtl', 'p rtl']);
    const arabic = { ...letterhead, language: 'ar' };
    const inArabic = renderEmail(await compileEmail({ subject: 'x', blocks }, arabic), copy).html;
    expect(dirsOf(inArabic)).to.deep.equal(['html rtl', 'p ltr', 'p ltr']);
    expect(inArabic).to.contain('lang="ar"').and.to.contain('إلغاء الاشتراك');
    expect(inArabic.match(/direction:(\w+)/g)?.every((found) => found === 'direction:rtl')).to.equal(true);
    expect(inArabic).to.not.contain('text-align:left');
  });

  it('has the tracking address of each link and one tracking pixel', async () => {
    const { html } = await rendered([
      { kind: 'text', text: '[a](https://example.com/?x=1&y=2) [m](mailto:crew@example.com)' },
      { kind: 'button', text: 'Begin', url: 'https://example.com/?n={{student_name}}' },
    ]);
    expect(hrefsOf(html)).to.deep.equal([
      'https://links.example/0?a=1&b=2',
      'mailto:crew@example.com',
      'https://example.com/?n=Ada%20%3CExample%3E',
      'https://leave.example/t',
    ]);
    expect(nodesOf(html).filter(({ attribs }) => attribs?.['src'] === copy.pixelUrl)).to.have.length(1);
  });

  it('percent-encodes a variable in a link of Markdown, and does not track that link', async () => {
    const email = await compileEmail(
      { subject: 'x', blocks: [{ kind: 'text', text: '[a](https://example.com/{{student_email|some body}})' }] },
      letterhead,
    );
    expect(email.links).to.deep.equal([]);
    expect(hrefsOf(renderEmail(email, copy).html)[0]).to.equal('https://example.com/ada%26co%40example.com');
    expect(hrefsOf(renderEmail(email, { ...copy, values: {} }).html)[0]).to.equal('https://example.com/some%20body');
  });

  it('loads nothing from third parties', async () => {
    const email = await compileEmail({ subject: 'x', blocks: [{ kind: 'divider' }] }, letterhead);
    const { pixelUrl: _, ...untracked } = copy;
    const { html } = renderEmail(email, untracked);
    expect(html).not.to.match(/https?:\/\/(?!leave\.example|www\.w3\.org)/);
    expect(html).not.to.contain('@import');
    expect(nodesOf(html).filter(({ name }) => name === 'img' || name === 'link' || name === 'script')).to.deep.equal(
      [],
    );
  });

  it('uses the fallback of a variable if the recipient has no value', async () => {
    const { text, subject } = await rendered(
      [{ kind: 'heading', text: '{{student_first_name}}|{{student_name|friend}}|{{student_email}}' }],
      { values: { student_name: ' ' } },
      'For {{student_first_name|you}}',
    );
    expect(text).to.match(/^there\|friend\|\n/);
    expect(subject).to.equal('For you');
  });

  it('keeps the subject on one line for any name', async () => {
    const { subject } = await rendered(
      [{ kind: 'divider' }],
      { values: { student_name: 'A\r\nBcc: b@example.com\u2028x' } },
      'Hi {{student_name}}',
    );
    expect(subject).to.equal('Hi A Bcc: b@example.com x');
  });

  it('escapes all texts, so that names cannot add an element, attribute or link', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom(
        '<img src=x onerror=alert(1)>',
        '"><a href="https://evil.example">',
        '-->',
        '<!--',
        ']]>',
        '</mj-text>',
        '{{',
        '\uE000\uE100\uE100\uE001',
        '&lt;b&gt;',
      ),
    );
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (author, name) => {
        const { html } = await rendered(
          [
            { kind: 'heading', text: `h ${author} {{student_name|x}}` },
            { kind: 'image', media_id: 'm', alt: `a ${author} {{student_name|x}}` },
            { kind: 'button', text: `b ${author} {{student_name|x}}`, url: 'https://example.com' },
          ],
          { values: { student_name: name } },
        );
        const nodes = nodesOf(html);
        expect(hrefsOf(html)).to.deep.equal(['https://links.example/0?a=1&b=2', copy.unsubscribeUrl]);
        expect(nodes.filter(({ name: tag }) => tag === 'img').map(({ attribs }) => attribs?.['src'])).to.deep.equal([
          'https://images.example/0',
          copy.pixelUrl,
        ]);
        expect(
          nodes.flatMap(({ attribs }) => Object.keys(attribs ?? {})).filter((key) => key.startsWith('on')),
        ).to.deep.equal([]);
        const textOf = (text: string) => text.replaceAll(/[\s\p{Cc}]+/gu, '');
        if (name.trim() !== '') expect(textOf(wordsOf(html))).to.contain(textOf(name));
      }),
      { numRuns: 60 },
    );
  });
});

import { expect } from 'chai';
import type { EmailContent } from '../../../../domain/mail/content/email-content.ts';
import { contentProblems } from '../../../../domain/mail/content/problems.ts';

const image = '886313e1-3b8a-4372-9b90-0c9aee199e5d';
const problems = (content: Partial<EmailContent>, path?: string) =>
  contentProblems(content, { ...(path === undefined ? {} : { path }), isImage: (id) => id === image }).map(
    (problem) => `${problem.path} ${problem.code}`,
  );
const withBlocks = (...blocks: EmailContent['blocks']): EmailContent => ({ subject: 'Knots', blocks });

describe('contentProblems (CAMP-4)', () => {
  it('finds no problem in one block of each kind', () => {
    expect(
      problems({
        subject: 'Hello {{student_first_name|you}}',
        preheader: 'A first knot',
        reply_to: 'crew@example.com',
        blocks: [
          { kind: 'heading', text: 'Ahoy', level: 1 },
          { kind: 'text', text: 'Read [this](https://example.com/{{student_email}}).' },
          { kind: 'image', media_id: image, alt: 'A knot', url: 'https://example.com' },
          { kind: 'button', text: 'Begin', url: 'https://example.com/?n={{student_name|a b}}' },
          { kind: 'divider' },
        ],
      }),
    ).to.deep.equal([]);
  });

  it('names everything that an empty draft lacks', () => {
    expect(problems({ blocks: [{ kind: 'image' }, { kind: 'button', text: ' ' }] }, '$.steps[1].email')).to.deep.equal([
      '$.steps[1].email.subject missing_field',
      '$.steps[1].email.blocks[0].media_id missing_field',
      '$.steps[1].email.blocks[1].text missing_field',
      '$.steps[1].email.blocks[1].url missing_field',
    ]);
    expect(problems({ subject: 'Knots', blocks: [] })).to.deep.equal(['$.blocks missing_field']);
  });

  it('names fields that belong to a different kind of block', () => {
    expect(
      problems(withBlocks({ kind: 'divider', text: 'x' }, { kind: 'text', text: 'x', level: 2, alt: 'y' })),
    ).to.deep.equal([
      '$.blocks[0].text field_of_another_kind',
      '$.blocks[1].level field_of_another_kind',
      '$.blocks[1].alt field_of_another_kind',
    ]);
  });

  it('accepts at most 100 blocks of 10,000 characters, and a subject of 200 characters', () => {
    const text = { kind: 'text', text: '😀'.repeat(10_000) } as const;
    const subject = 'x'.repeat(200);
    expect(problems({ subject, preheader: subject, blocks: Array.from({ length: 100 }, () => text) })).to.deep.equal(
      [],
    );
    expect(
      problems({
        subject: `${subject}x`,
        preheader: `${subject}x`,
        blocks: [
          ...Array.from({ length: 100 }, () => ({ kind: 'divider' }) as const),
          { kind: 'text', text: `${text.text}x` },
        ],
      }),
    ).to.deep.equal(['$.subject too_long', '$.preheader too_long', '$.blocks too_long', '$.blocks[100].text too_long']);
  });

  for (const [url, code] of [
    ['javascript:alert(1)', 'invalid_url'],
    ['java\nscript:alert(1)', 'invalid_url'],
    ['data:text/html,x', 'invalid_url'],
    ['//example.com', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://a b', 'invalid_url'],
    ['https://{{student_name}}/', 'invalid_url'],
    ['https://example.com{{student_name}}/', 'invalid_url'],
    ['{{student_name}}', 'invalid_url'],
    ['https://example.com/{{nobody}}', 'unknown_variable'],
    [`https://example.com/${'x'.repeat(2_048)}`, 'invalid_url'],
  ] as const) {
    it(`refuses ${JSON.stringify(url.slice(0, 40))} on a button and in Markdown`, () => {
      expect(problems(withBlocks({ kind: 'button', text: 'x', url }))).to.deep.equal([`$.blocks[0].url ${code}`]);
      if (/[\s]/.test(url) || url.length > 100) return; // Markdown does not read this as a link
      expect(problems(withBlocks({ kind: 'text', text: `[x](${url})` }))).to.deep.equal([`$.blocks[0].text ${code}`]);
    });
  }

  it('checks a link that contains a variable, even if the variable’s fallback contains spaces', () => {
    expect(problems(withBlocks({ kind: 'text', text: '[x](javascript:{{student_name|a b}})' }))).to.deep.equal([
      '$.blocks[0].text invalid_url',
    ]);
  });

  it('refuses line breaks, bad variables and a bad reply address', () => {
    expect(
      problems({
        subject: 'x\r\nBcc: y',
        preheader: '{{club_name',
        reply_to: 'a@example.com, b@example.com',
        blocks: [{ kind: 'text', text: '{{first}}' }],
      }),
    ).to.deep.equal([
      '$.subject line_break',
      '$.preheader unclosed_variable',
      '$.reply_to invalid_address',
      '$.blocks[0].text unknown_variable',
    ]);
  });

  it('refuses more than ten nested lists, because the parser may omit their words', () => {
    const lists = (depth: number) => problems(withBlocks({ kind: 'text', text: `${'1. '.repeat(depth)}x` }));
    expect(lists(10)).to.deep.equal([]);
    for (const depth of [11, 12, 13, 3_000])
      expect(lists(depth), `${depth} deep`).to.deep.equal(['$.blocks[0].text nested_too_deep']);
  });

  // A parser that tries every pairing of these marks needs seconds for one block.
  for (const piece of ['_a*', '*a_ ', '[', '![[](', 'a\n- ', '**a'])
    it(`reads 40 blocks that repeat ${JSON.stringify(piece)} within the time limit of a test`, () => {
      const text = piece.repeat(10_000 / piece.length);
      const blocks = Array.from({ length: 40 }, () => ({ kind: 'text' as const, text }));
      expect(problems(withBlocks(...blocks))).to.deep.equal([]);
    });

  it('refuses an image that the library does not have', () => {
    expect(problems(withBlocks({ kind: 'image', media_id: '00000000-0000-4000-8000-000000000000' }))).to.deep.equal([
      '$.blocks[0].media_id unknown_media',
    ]);
  });

  for (const code of ['image_unreadable', 'image_too_large', 'image_too_heavy'] as const)
    it(`names the block of an image that e-mails cannot show: ${code}`, () => {
      const content = {
        subject: 'x',
        blocks: [{ kind: 'divider' as const }, { kind: 'image' as const, media_id: image }],
      };
      const found = contentProblems(content, { isImage: () => true, imageProblems: { [image]: code } });
      expect(found.map((problem) => [problem.path, problem.code])).to.deep.equal([['$.blocks[1].media_id', code]]);
    });
});

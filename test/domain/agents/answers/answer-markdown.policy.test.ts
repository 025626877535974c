/** Answers without images and without raw HTML, however they are cut into deltas. */
import { expect } from 'chai';
import fc from 'fast-check';
import { lexer, walkTokens, type Token } from 'marked';
import { createMarkdownStripper } from '../../../../domain/agents/answers/answer-markdown.policy.ts';

const stripped = (...chunks: readonly string[]): string => {
  const stripper = createMarkdownStripper();
  return [...chunks.map((chunk) => stripper.push(chunk)), stripper.end()].join('');
};

/** The kinds of tokens that a Markdown renderer finds. */
function kindsIn(markdown: string): Set<string> {
  const kinds = new Set<string>();
  void walkTokens(lexer(markdown), ({ type }: Token) => void kinds.add(type));
  return kinds;
}

/** What Markdown, and attacks on readers of Markdown, are made of. */
const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('`', '``', '```', '````', '~~~', '~~~~', '\n', '\n\n', ' ', '    ', '\t', '\r', '\r\n'),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      '![x](https://e.example/?q=1)',
      '<img src="https://e.example">',
      '<!--',
      '<?',
      '</a>',
      '<https://a.example/`b>',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '![',
      '!',
      '[a](<`>)',
      '](',
      ')',
      '[a]:',
      '[a][',
      ']',
      '<',
      '>',
      '\\',
      '|',
      '| - | - |\n',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '- ',
      '1. ',
      '> ',
      '  ',
      '   ',
      '# ',
      'a',
      '"',
      "'",
      'https://a.example/',
      'www.a.example/',
      'a@b.example',
    ),
  },
);
const nasty = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

describe('the Markdown of an answer (DEC-55)', () => {
  it('has no image and no raw HTML for a renderer, whatever the model writes', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const kinds = kindsIn(stripped(text));
        expect([kinds.has('image'), kinds.has('html')], JSON.stringify(stripped(text))).to.deep.equal([false, false]);
      }),
      { numRuns: Number(process.env.MARKDOWN_TEXTS ?? 3_000) },
    );
  });

  it('is the same however the stream cuts it, and what is written never changes afterwards', () => {
    fc.assert(
      fc.property(nasty, fc.array(fc.nat({ max: 9 })), (text, cuts) => {
        const chunks: string[] = [];
        let at = 0;
        for (const length of cuts) {
          chunks.push(text.slice(at, at + length));
          at += length;
        }
        chunks.push(text.slice(at));
        expect(stripped(...chunks)).to.equal(stripped(text));
        expect(stripped(...text.split(''))).to.equal(stripped(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('turns images into links, and tags into text', () => {
    expect(stripped('See ![a knot](https://e.example/?q=secret).')).to.equal(
      'See ! [a knot](https://e.example/?q=secret).',
    );
    expect(stripped('[![a](b)](c) !![d][e]')).to.equal('[! [a](b)](c) !! [d][e]');
    expect(stripped('a <b>c</b> <!-- d --> <?e?> \\<img>')).to.equal(
      'a &lt;b>c&lt;/b> &lt;!-- d --> &lt;?e?> &lt;img>',
    );
  });

  it('leaves other Markdown as it is', () => {
    const texts = [
      'A *bend* joins **two** ropes: 1 < 2, a <- b, x<3, done!\n\n- one\n- [two](https://a.example)\n',
      '| a | b |\n| - | - |\n| 1 | 2 |\n',
      'Read <https://a.example/page> and mail!\n',
      '> quoted\n\n1. first\n\n   more\n',
    ];
    for (const text of texts) expect(stripped(text)).to.equal(text);
  });

  it('leaves code as it is: spans on a line, and fences at the margin', () => {
    const texts = [
      'Use `<div>` or (`![alt](src)`), **`vec![1]`** and ``a ` <b>``; 用`<p>`元素.\n',
      '```html\n<div>\n  ![x](y)\n</div>\n```\n\nThen `<b>`.\n',
      'Text\n```\nList<String> a = x<y>;\n```\nand `<i>`',
      '~~~\n```\n<a>\n~~~\n',
      '````md\n```\n<a>\n```\n````\n`<b>`',
      '- item\n\n  ```\n  plain\n  ```\n\nThen `<b>`.\n',
    ];
    for (const text of texts) expect(stripped(text)).to.equal(text);
  });

  it('takes nothing for code where renderers could disagree', () => {
    const image = '![x](https://e.example)';
    const texts = [
      ' ```\n```\n' + image,
      '> ```\n' + image,
      '- ```\n' + image,
      '````\n```\n````\n' + image,
      '```\n```~\n' + image,
      'a ` b\n` ' + image + ' `',
      '[a](<`>)' + image + '[b](<`>)',
      '[a](b "\n`")' + image + '[c](d "`")',
      'https://a.example/`' + image + '`',
      '<https://a.example/`b>' + image + '`',
      '| `a ' + image + '|` |\n|-|-|\n',
      '\\`' + image + '`',
      '[a]:\n```\n\n' + image,
    ];
    for (const text of texts) expect(stripped(text)).to.contain('! [x]').and.not.contain('![x]');
  });

  it('holds back no more than a line, and ordinary words not at all', () => {
    const stripper = createMarkdownStripper();
    expect(stripper.push('A bend joins')).to.equal('A bend joins');
    expect(stripper.push(' two!')).to.equal(' two');
    expect(stripper.push('[')).to.equal('! [');
    expect(stripper.push(' `co')).to.equal(' ');
    expect(stripper.push('de')).to.equal('');
    expect(stripper.push('\n')).to.equal('`code\n');
    expect(stripper.end()).to.equal('');
  });
});

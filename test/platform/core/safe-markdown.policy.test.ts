/** Tests the filter that removes images and raw HTML from answers of the model. */
import { expect } from 'chai';
import fc from 'fast-check';
import { lexer, walkTokens, type Token } from 'marked';
import { createMarkdownStripper } from '../../../platform/core/text/safe-markdown.policy.ts';

const stripped = (...chunks: readonly string[]): string => {
  const stripper = createMarkdownStripper();
  return [...chunks.map((chunk) => stripper.push(chunk)), stripper.end()].join('');
};

/** The token types, and the forbidden link addresses. */
function foundIn(markdown: string): { kinds: Set<string>; bad: string[] } {
  const kinds = new Set<string>();
  const bad: string[] = [];
  void walkTokens(lexer(markdown), (token: Token) => {
    kinds.add(token.type);
    if (token.type !== 'link') return;
    const protocol = URL.parse(String(token['href']), 'https://site.example')?.protocol ?? 'https:';
    if (!['http:', 'https:', 'mailto:'].includes(protocol) || String(token['href']).startsWith('//'))
      bad.push(String(token['href']));
  });
  return { kinds, bad };
}

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
      '[a](javascript:alert(1))',
      '[a]: data:text/html,x\n',
      '](//e.example)',
    ),
  },
);
const nasty = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

describe('the filter for the Markdown of an answer (DEC-55)', () => {
  it('gives a renderer no image, raw HTML or forbidden link, whatever the model writes', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const { kinds, bad } = foundIn(stripped(text));
        const found = [kinds.has('image'), kinds.has('html'), ...bad];
        expect(found, JSON.stringify(stripped(text))).to.deep.equal([false, false]);
      }),
      { numRuns: Number(process.env.MARKDOWN_TEXTS ?? 3_000) },
    );
  });

  it('writes equal output wherever the stream is split', () => {
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

  it('keeps other Markdown unchanged', () => {
    const texts = [
      'A *bend* joins **two** ropes: 1 < 2, a <- b, x<3, done!\n\n- one\n- [two](https://a.example)\n',
      '| a | b |\n| - | - |\n| 1 | 2 |\n',
      'Read <https://a.example/page> and mail!\n',
      '> quoted\n\n1. first\n\n   more\n',
    ];
    for (const text of texts) expect(stripped(text)).to.equal(text);
  });

  it('keeps a code span on one line and a fence without indent unchanged', () => {
    const texts = [
      'Use `<div>` or (`![alt](src)`), **`vec![1]`** and ``a ` <b>``; 用`<p>`元素.\n',
      '```html\n<div>\n  ![x](y)\n</div>\n```\n\nThen `<b>`.\n',
      'Text\n```\nList<String> a = x<y>;\n```\nand `<i>`',
      '~~~\n```\n<a>\n~~~\n',
      '~~~html\n<a>\n~~~\n',
      '````md\n```\n<a>\n```\n````\n`<b>`',
      '- item\n\n  ```\n  plain\n  ```\n\nThen `<b>`.\n',
    ];
    for (const text of texts) expect(stripped(text)).to.equal(text);
  });

  it('filters code as normal text if renderers may not treat it as code', () => {
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

  for (const [what, text, expected] of [
    ['a code span after an escaped backslash in the same word', '\\\\`![x](y)`', '\\\\`! [x](y)`'],
    ['a code span after an escaped backslash in another word', '\\\\ `![x](y)`', '\\\\ `![x](y)`'],
    ['a code span after an escaped backtick', '\\` `![x](y)`', '\\` `! [x](y)`'],
    ['a code span after a backslash before a letter', '\\a `![x](y)`', '\\a `![x](y)`'],
    ['a code span after an http address', '<http://a> `![x](y)`', '<http://a> `! [x](y)`'],
    ['a code span after an address in capitals', '<HTTPS://a> `![x](y)`', '<HTTPS://a> `! [x](y)`'],
    ['a code span after a tag', '<b> `![x](y)`', '&lt;b> `![x](y)`'],
    ['a code span after a tag that begins with 8 letters', '<blockquote> `![x](y)`', '&lt;blockquote> `![x](y)`'],
    ['a code span after a link', '[a](b) `![x](y)`', '[a](b) `! [x](y)`'],
    ['a code span after a link that uses a label', '[a][b] `![x](y)`', '[a][b] `! [x](y)`'],
    ['a code span after a label', '[a]: b `![x](y)`', '[a]: b `! [x](y)`'],
    ['a code span after brackets without a link', '[a] `![x](y)`', '[a] `![x](y)`'],
    ['a span in the next paragraph after a link', '[a](b)\n\n`![x](y)`', '[a](b)\n\n`![x](y)`'],
    ['a span of two backticks that contains a backtick', '``a` ![x](y)``', '``a` ![x](y)``'],
    ['a span that contains the end of a table cell', '`a|![x](y)`', '`a|! [x](y)`'],
    ['a span that only a longer run of backticks can close', '`<b>``', '`&lt;b>``'],
    ['a span of three backticks that begins a line', '```![x](y)```', '```! [x](y)```'],
    ['the lines below a span of three backticks that begins a line', '```a```\n![x](y)', '```a```\n! [x](y)'],
    ['a code span after a span of three backticks in its line', 'a ```b``` `![x](y)`', 'a ```b``` `![x](y)`'],
    ['a span that ends on another line', '`a\n![x](y)`', '`a\n! [x](y)`'],
    ['a code span after one tilde that begins a line', '~5 `![x](y)`', '~5 `![x](y)`'],
    ['a code span after two tildes that begin a line', '~~a~~ `![x](y)`', '~~a~~ `![x](y)`'],
    ['a tag after an escaped backslash', '\\\\<b>', '\\\\&lt;b>'],
    ['a span without an end', '`![x](y)', '`! [x](y)'],
    ['a code span after a span without an end', '`` a\n`![x](y)`', '`` a\n`! [x](y)`'],
    ['a fence at the end of a text', '```\n![x](y)\n```', '```\n![x](y)\n```'],
    ['a fence without an end', '```\n![x](y)', '```\n![x](y)'],
    ['a code span after a fence that a longer fence closes', '```\n`````  \n`![x](y)`', '```\n`````  \n`![x](y)`'],
    [
      'a code span after a fence that is closed with an indent of 3',
      '```\n   ```\n`![x](y)`',
      '```\n   ```\n`![x](y)`',
    ],
    ['a fence that stays open at a line with words before the marks', '```\na ```\n![x](y)', '```\na ```\n![x](y)'],
    ['a fence that stays open at a line with words after the marks', '```\n``` a\n![x](y)', '```\n``` a\n![x](y)'],
    [
      'a fence that some renderers close at a line with an indent of 4',
      '```\n    ```\n![x](y)',
      '```\n    ```\n! [x](y)',
    ],
    [
      'a fence that some renderers close at a line with two kinds of marks',
      '```\n``` ~\n![x](y)',
      '```\n``` ~\n! [x](y)',
    ],
    [
      'all text after a fence that only some renderers consider closed',
      '```\n    ```\n\n```\n![x](y)',
      '```\n    ```\n\n```\n! [x](y)',
    ],
    [
      'a span on the line of a fence with a backtick',
      '```a`\n![x](y)\n\n```\n![x](y)',
      '```a`\n! [x](y)\n\n```\n![x](y)',
    ],
    ['all text after tildes with a tilde in their info string', '~~~a~\n\n```\n![x](y)', '~~~a~\n\n```\n! [x](y)'],
    [
      'all text after a fence that renderers may read as the address of a label',
      '[a]:\n```\n\n```\n![x](y)',
      '[a]&#58;\n```\n\n```\n! [x](y)',
    ],
    ['a fence in a paragraph after a label', '[a]: b\n\n```\n![x](y)', '[a]: b\n\n```\n![x](y)'],
    ['a fence below a line with only brackets', '[a] b\n```\n![x](y)\n```', '[a] b\n```\n![x](y)\n```'],
    ['a code span after a fence in a list', '- ```\n  ```\n\n`![x](y)`', '- ```\n  ```\n\n`![x](y)`'],
    [
      'a code span after a fence in a list that a longer fence closes',
      ' ```\n ````  \n\n`![x](y)`',
      ' ```\n ````  \n\n`![x](y)`',
    ],
    ['the content of a fence in a list', '  ```\n  ![x](y)\n  ```', '  ```\n  ! [x](y)\n  ```'],
    ['a span in a fence in a list', '  ```\n\n  `![x](y)`', '  ```\n\n  `! [x](y)`'],
    [
      'all text after a fence in a list if the closing line begins at another column',
      '  ```\n ```\n\n`![x](y)`',
      '  ```\n ```\n\n`! [x](y)`',
    ],
    [
      'all text after a fence in a list if the next fence begins another item',
      '- ```\n- ```\n\n`![x](y)`',
      '- ```\n- ```\n\n`! [x](y)`',
    ],
    [
      'all text after a fence in a list whose closing line has a word',
      '  ```\n  ``` a\n\n`![x](y)`',
      '  ```\n  ``` a\n\n`! [x](y)`',
    ],
    [
      'all text after a fence in a list that contains a line with other marks',
      '  ```\n  ~~~\n  ```\n\n`![x](y)`',
      '  ```\n  ~~~\n  ```\n\n`! [x](y)`',
    ],
    [
      'all text after a fence in a list if a less indented line ends the item',
      '  ```\n a\n  ```\n\n`![x](y)`',
      '  ```\n a\n  ```\n\n`! [x](y)`',
    ],
    [
      'a code span after a fence in a list if all lines begin at the column of the fence',
      '  ```\n  a\n  ```\n\n`![x](y)`',
      '  ```\n  a\n  ```\n\n`![x](y)`',
    ],
    ['all text after a fence in a quote', '> ```\n\n`![x](y)`', '> ```\n\n`! [x](y)`'],
    [
      'all text after a fence in a quote that closes outside the quote',
      '> ```\n  ```\n\n`![x](y)`',
      '> ```\n  ```\n\n`! [x](y)`',
    ],
    ['all text after a fence that begins after a tab', '\t```\n\n`![x](y)`', '\t```\n\n`! [x](y)`'],
    [
      'all text after a fence that begins after a tab and closes after a space',
      '\t```\n ```\n\n`![x](y)`',
      '\t```\n ```\n\n`! [x](y)`',
    ],
  ] as const)
    it(`${text === expected ? 'keeps' : 'changes'} ${what}`, () => {
      expect(stripped(text)).to.equal(expected);
      expect(stripped(...text.split(''))).to.equal(expected);
    });

  for (const [what, text, expected] of [
    ['a link with a web address', '[x](https://a.example/?q=1)', '[x](https://a.example/?q=1)'],
    ['a link to a mail address', '[x](mailto:a@b.example)', '[x](mailto:a@b.example)'],
    ['a link within the site', '[x](/a) [y](#b) [z](c.html)', '[x](/a) [y](#b) [z](c.html)'],
    ['a link that runs a script', '[x](javascript:alert(1))', '[x]&#40;javascript:alert(1))'],
    [
      'a link that runs a script, in another spelling',
      '[x](java&#115;cript:alert(1))',
      '[x]&#40;java&#115;cript:alert(1))',
    ],
    ['a link with data', '[x](data:text/html,y)', '[x]&#40;data:text/html,y)'],
    ['a link to another site without a scheme', '[x](//e.example)', '[x]&#40;//e.example)'],
    [
      'a link to a file of the library',
      '[x](media:7c9e6679-7425-40de-944b-e07fc1f90ae7)',
      '[x]&#40;media:7c9e6679-7425-40de-944b-e07fc1f90ae7)',
    ],
    ['a label that runs a script', '[x][y]\n\n[y]: javascript:alert(1)', '[x][y]\n\n[y]&#58; javascript:alert(1)'],
    ['a label with a web address', '[x][y]\n\n[y]: https://a.example', '[x][y]\n\n[y]: https://a.example'],
    ['an address that runs a script', '<javascript:alert(1)>', '&lt;javascript:alert(1)>'],
    ['a link that runs a script, as code', '`[x](javascript:alert(1))`', '`[x](javascript:alert(1))`'],
  ] as const)
    it(`${text === expected ? 'keeps' : 'changes'} ${what}`, () => {
      expect(stripped(text)).to.equal(expected);
      expect(stripped(...text.split(''))).to.equal(expected);
    });

  it('delays an address until it is clear whether the address is allowed', () => {
    const stripper = createMarkdownStripper();
    expect(stripper.push('see [x](')).to.equal('see [x');
    expect(stripper.push('https:')).to.equal('');
    expect(stripper.push('//')).to.equal('](https://');
    expect(stripper.push('a.example) [y](java')).to.equal('a.example) [y');
    expect(stripper.push('script:')).to.equal('');
    expect(stripper.push('alert(1))')).to.equal(']&#40;javascript:alert(1))');
    expect(stripper.cutsLinks()).to.equal(true);
  });

  it('waits at most 180 characters for the beginning of an address', () => {
    const stripper = createMarkdownStripper();
    const written = stripper.push('[x](' + 'a'.repeat(600));
    expect(written).to.equal('[x]&#40;' + 'a'.repeat(600));
    expect(createMarkdownStripper().push('[x](' + ' '.repeat(600))).to.equal('[x]&#40;' + ' '.repeat(600));
  });

  it('delays a tag only if it may be the beginning of an address', () => {
    const pushed = (...chunks: string[]) => {
      const stripper = createMarkdownStripper();
      return [...chunks.map((chunk) => stripper.push(chunk)), stripper.end()];
    };
    expect(pushed('a <http', '://b')).to.deep.equal(['a ', '<http://b', '']);
    expect(pushed('a <https:/')).to.deep.equal(['a ', '&lt;https:/']);
    expect(pushed('a <https://')).to.deep.equal(['a <https://', '']);
    expect(pushed('a <httpsx')).to.deep.equal(['a &lt;httpsx', '']);
    expect(pushed('a <htt')).to.deep.equal(['a ', '&lt;htt']);
    expect(pushed('a <b')).to.deep.equal(['a &lt;b', '']);
    expect(pushed('a <')).to.deep.equal(['a ', '<']);
  });

  it('ends all lines with one character, however the stream splits them', () => {
    expect(stripped('a\r\nb\rc\n\rd\r\n')).to.equal('a\nb\nc\n\nd\n');
    expect(stripped('a\r', '', '\nb', '\nc')).to.equal('a\nb\nc');
    expect(stripped('\n', 'a')).to.equal('\na');
  });

  it('delays at most one line of output, and never delays ordinary words', () => {
    const stripper = createMarkdownStripper();
    expect(stripper.push('A bend joins')).to.equal('A bend joins');
    expect(stripper.push(' two!')).to.equal(' two');
    expect(stripper.push('[')).to.equal('! [');
    expect(stripper.push(' `co')).to.equal(' ');
    expect(stripper.push('de')).to.equal('');
    expect(stripper.push('\n')).to.equal('`code\n');
    expect(stripper.end()).to.equal('');
  });

  it('writes a closed code span, an escaped backtick and each line of a fence immediately', () => {
    const stripper = createMarkdownStripper();
    expect(stripper.push('Use `<b>` or')).to.equal('Use `<b>` or');
    expect(stripper.push(' \\`')).to.equal(' \\`');
    expect(stripper.push('\n\n```\n<b>\n<i')).to.equal('\n\n```\n<b>\n');
  });
});

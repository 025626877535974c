/** Tests the filter for texts that members write. */
import { expect } from 'chai';
import fc from 'fast-check';
import { Parser } from 'htmlparser2';
import MarkdownIt from 'markdown-it';
import { marked } from 'marked';
import { safeText, type TextKind } from '../../../platform/core/text/written-text.ts';

const open = new MarkdownIt({ html: true, linkify: true });
open.validateLink = () => true;
open.normalizeLink = (address) => address;
open.linkify.add('//', null); // its own: a bare `//host` in a text leads to the web
const renderers: readonly ((text: string) => string)[] = [
  (text) => open.render(text),
  (text) => new MarkdownIt({ html: true, breaks: true }).render(text),
  (text) => marked.parse(text, { async: false }),
  (text) => marked.parse(text, { async: false, gfm: false }),
];

const elements = new Set(
  'p br hr em strong del s code pre blockquote ul ol li a h1 h2 h3 h4 h5 h6 table thead tbody tr th td input'.split(
    ' ',
  ),
);
const attributes = new Set(['href', 'title', 'class', 'start', 'align', 'type', 'checked', 'disabled', 'alt', 'style']);
const schemes = new Set(['http:', 'https:', 'mailto:', 'media:']);
const site = 'https://club.example';

/** The elements, attributes and addresses that these tests do not allow. */
function beyond(html: string, images: readonly string[] = []): string[] {
  const found: string[] = [];
  const parser = new Parser({
    onopentag(name, pairs) {
      if (!elements.has(name) && !(name === 'img' && images.some((begin) => pairs['src']?.startsWith(begin))))
        found.push(`<${name}>`);
      for (const [attribute, value] of Object.entries(pairs)) {
        if (attribute === 'src' && name === 'img') continue;
        if (!attributes.has(attribute) || (attribute === 'style' && !/^text-align:\s?\w+;?$/.test(value)))
          found.push(`${attribute}=${value}`);
      }
      if (pairs['href'] !== undefined && !leadsToKnownPlace(pairs['href'])) found.push(`href=${pairs['href']}`);
    },
    oncomment: () => found.push('<!---->'),
    onprocessinginstruction: (name) => found.push(`<${name}>`),
  });
  parser.end(html);
  return found;
}

/** A link with a host must have a scheme. */
function leadsToKnownPlace(href: string): boolean {
  const url = URL.parse(href, site);
  if (url === null) return true; // leads nowhere
  if (url.origin !== site && url.protocol === 'https:') return /^https:\/\//i.test(href);
  return schemes.has(url.protocol);
}

function expectSafe(text: string, kind: TextKind, images: readonly string[] = []): void {
  const safe = safeText(text, kind);
  if (safe === undefined) return; // it is refused
  expect(safeText(safe, kind), 'a second time').to.equal(safe);
  for (const [index, render] of renderers.entries())
    expect(beyond(render(safe), images), `renderer ${index}: ${JSON.stringify(safe)}`).to.deep.equal([]);
}

const media = 'media:7c9e6679-7425-40de-944b-e07fc1f90ae7';

const tags: readonly string[] = [
  '<script>alert(1)</script>',
  '<ScRiPt src=//evil.example></sCrIpT>',
  '<img src=x onerror=alert(1)>',
  '<img/src=x/onerror=alert(1)>',
  '<img\nsrc=x\nonerror=alert(1)>',
  '<img\tsrc=x\tonerror\t=\talert(1)>',
  '<img src="x" on&#101;rror=alert(1)>',
  '<IMG SRC=javascript&colon;alert(1)>',
  '<img src=https://evil.example/pixel.png>',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="jav&#x09;ascript:alert(1)">x</a>',
  '<a href=" &#14; javascript:alert(1)">x</a>',
  '<form><button formaction=javascript:alert(1)>x</button></form>',
  '<button formaction="https://evil.example">x</button>',
  '<input autofocus onfocus=alert(1)>',
  '<details open ontoggle=alert(1)>x</details>',
  '<p style="background:url(https://evil.example)">x</p>',
  '<style>@import "https://evil.example"</style>',
  '<svg/onload=alert(1)>',
  '<svg><animate xlink:href=#x attributeName=href values=javascript:alert(1) /></svg>',
  '<math href="javascript:alert(1)">x</math>',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<object data="data:text/html;base64,AAAA">',
  '<embed src=//evil.example>',
  '<base href=//evil.example/>',
  '<meta http-equiv=refresh content="0;url=//evil.example">',
  '<link rel=stylesheet href=//evil.example>',
  '<video><source onerror=alert(1)></video>',
  '<x-y onclick=alert(1)>x</x-y>',
  '<!-- x --><b>',
  '<!--><img src=x onerror=alert(1)>-->',
  '<![CDATA[<img src=x onerror=alert(1)>]]>',
  '<?php <img src=x onerror=alert(1)> ?>',
  '<!DOCTYPE html>',
  '</p><img src=x onerror=alert(1)>',
  '\\<img src=x onerror=alert(1)>',
  '\\\\<img src=x onerror=alert(1)>',
  '> <img src=x onerror=alert(1)>',
  '- <img src=x onerror=alert(1)>',
  '# <img src=x onerror=alert(1)>',
  '| <img src=x onerror=alert(1)> |\n| - |\n',
  '    x\n\n<img src=x onerror=alert(1)>',
  ' ```\n```\n<img src=x onerror=alert(1)>',
  '`a\n<img src=x onerror=alert(1)>`',
  '**<img src=x onerror=alert(1)>**',
  '[<img src=x onerror=alert(1)>](https://a.example)',
  '![<img src=x onerror=alert(1)>](https://a.example)',
  '[x](https://a.example "<img src=x onerror=alert(1)>")',
  `![x](${media} "><img src=x onerror=alert(1)>)`,
  '<https://a.example onmouseover=alert(1)>',
  '<https://a.example"onmouseover=alert(1)>',
];

const links: readonly string[] = [
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](javascript&colon;alert(1))',
  '[x](javascript&#58;alert(1))',
  '[x](java&Tab;script:alert(1))',
  '[x](java&NewLine;script:alert(1))',
  '[x](java\u200bscript:alert(1))',
  '[x](\u00a0javascript:alert(1))',
  '[x](\ufeffjavascript:alert(1))',
  '[x](java%0ascript:alert(1))',
  '[x](javascript%3Aalert(1))',
  '[x](javascript\\:alert(1))',
  '[x](<javascript:alert(1)>)',
  '[x](<java\tscript:alert(1)>)',
  '[x](<\u0001javascript:alert(1)>)',
  '[x](\njavascript:alert(1))',
  '> [x](\n> javascript:alert(1))',
  '[![y](z)](javascript:alert(1))',
  '[x](vbscript:msgbox)',
  '[x](data:text/html;base64,AAAA)',
  '[x](file:///etc/passwd)',
  '[x](blob:https://a.example/1)',
  '[x](//evil.example)',
  '[x](/\\evil.example)',
  '[x](\\\\evil.example)',
  '[x](/&#47;evil.example)',
  '[x](/&sol;evil.example)',
  '[x](</\t/evil.example>)',
  '[x](https:evil.example)',
  '[x](https:\\\\evil.example)',
  '[x](tel:+351)',
];

describe('the filter for the Markdown of members (DEC-148)', () => {
  for (const text of tags) {
    it(`shows ${JSON.stringify(text)} as text`, () => {
      expectSafe(text, 'markdown', [media]);
      expectSafe(text, 'lesson', [media, 'https://']);
      expectSafe(text, 'plain');
      expect(beyond(safeText(text, 'plain') ?? ''), 'without a renderer').to.deep.equal([]);
    });
    it(`accepts ${JSON.stringify(text)}`, () => expect(safeText(text, 'markdown')).to.be.a('string'));
  }

  for (const text of links)
    it(`refuses the link ${JSON.stringify(text)}`, () => {
      for (const kind of ['markdown', 'lesson', 'plain'] as const)
        expect(safeText(text, kind), kind).to.equal(undefined);
    });

  for (const text of [
    '[x]: javascript:alert(1)\n\n[x]',
    '[x][y]\n\n[y]: javascript:alert(1)',
    '[x][y]\n\n[y]:\n  javascript:alert(1)',
    '[x][y]\n\n[y]: <javascript:alert(1)>',
    '[x][y]\n\n[y]: java&#115;cript:alert(1)',
    '![x][y]\n\n[y]: data:image/svg+xml,x',
    '![x][y]\n\n[y]: https://evil.example/pixel.png',
    '<javascript:alert(1)>',
    '<data:text/html,x>',
    '<java&#115;cript:alert(1)>',
    '![x](https://evil.example/pixel.png)',
    '![x](https://evil.example/pixel.png "title")',
    '![[x]](https://evil.example/pixel.png)',
    '!\\[x](y) ![`](https://evil.example/a)![`](b)',
    '[![x](https://evil.example/pixel.png)](https://a.example)',
    '![x](//evil.example/pixel.png)'.replace('//', '/a/'),
  ])
    it(`makes harmless: ${JSON.stringify(text)}`, () => {
      expect(safeText(text, 'markdown')).to.be.a('string');
      expectSafe(text, 'markdown', [media]);
      expectSafe(text, 'plain');
    });

  for (const text of [
    'a < b and c > d',
    'I <3 ropes',
    '1 <2> 3',
    'a <- b <= c << d',
    'f(x) = a[i](j) & b',
    '[shop](https://example.com/a?b=c&d=e)',
    '[mail](mailto:ada@example.com)',
    '[here](/lessons/1), [there](#top), [page](page.html), [file](my%20file.pdf) and [search](?q=a)',
    '<https://example.com/a>',
    `![A bowline](${media})`,
    `[![A bowline](${media})](https://example.com)`,
    '`<b>` and `[x](javascript:alert(1))`',
    '```html\n<img src=x onerror=alert(1)>\n```\n',
    '[ ] open\n- [x] done: fine\n',
    'javascript: in a sentence',
    '👨‍👩‍👧 says: [größer](/größe)',
  ])
    it(`keeps ${JSON.stringify(text)}`, () => expect(safeText(text, 'markdown')).to.equal(text));

  it('keeps the words of a text that looks like a tag', () => {
    expect(safeText('A List<String> <b>', 'markdown')).to.equal('A List&lt;String> &lt;b>');
    expect(open.render(safeText('A List<String>', 'markdown') ?? '')).to.equal('<p>A List&lt;String&gt;</p>\n');
    expect(safeText('A List<String> <3 ![x](y) [z]: note: a', 'plain')).to.equal(
      'A List< String> <3 ! [x](y) [z] : note: a',
    );
    expect(safeText('<b>{{x}}</b>', 'raw')).to.equal('<b>{{x}}</b>');
  });

  it('allows images from the web only in lessons', () => {
    const image = '![knot](https://example.com/knot.png)';
    expect(safeText(image, 'lesson')).to.equal(image);
    expect(safeText(image, 'markdown')).to.equal(`! ${image.slice(1)}`);
    expect(safeText('![knot](data:image/png;base64,AA)', 'lesson')).to.equal(undefined);
  });

  it('allows no other element, attribute or address for any text', () => {
    const tagPieces = [
      '<img src=x onerror=alert(1)>',
      '<https://a.example',
      '</p>',
      '<!--',
      '-->',
      '<?',
      '<a\n',
      '>',
      '<',
    ];
    const marks = '![,[,],](,)][,\\,`,```,~~~,\n,\n\n,    ,\t,> ,- ,|,a,",\',&,*,# ,1. ,|-|\n'.split(',');
    const addresses = ['javascript:alert(1)', 'https://a.example/', '//evil.example', '&#58;', media];
    const wholes = [']: ', '![x](https://evil.example)', '[x]: ', '[x]', `![x](${media})`];
    const piece = fc.constantFrom(...tagPieces, ...marks, ...addresses, ...wholes);
    const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, (written) => {
        expectSafe(written, 'markdown', ['media:']);
        expectSafe(written, 'plain', []);
      }),
      { numRuns: Number(process.env.MARKDOWN_TEXTS ?? 3_000) },
    );
  });

  it('needs at most 250 ms for 100,000 nested characters', () => {
    for (const piece of [
      '[',
      '![',
      '*a ',
      '> ',
      '- ',
      '<a ',
      '`',
      '[x](',
      '](',
      ']:',
      '&#106;',
      '_[',
      '![a',
      '`a ',
      '\n',
      '](\n',
    ])
      for (const kind of ['markdown', 'lesson', 'plain'] as const) {
        const text = piece.repeat(100_000 / piece.length);
        safeText(text, kind);
        const before = process.threadCpuUsage();
        safeText(text, kind);
        const { user, system } = process.threadCpuUsage(before);
        expect((user + system) / 1_000, `${kind} ${piece}`).to.be.below(250);
      }
  });
});

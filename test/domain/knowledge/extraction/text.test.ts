import { expect } from 'chai';
import { decodeText, kindOfText } from '../../../../domain/knowledge/extraction/text/plain-text.ts';
import { joinUnspaced } from '../../../../domain/knowledge/extraction/line-breaks.policy.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';
import { readFrom, shortly } from '../../../toolkit/drive/extracting.ts';
import { readAs } from '../../../toolkit/drive/reading.ts';

const paragraphsOf = async (text: string) =>
  (await readAs('plain', text)).sections.flatMap(({ paragraphs }) =>
    paragraphs.map((paragraph) => [paragraph.kind, paragraph.text]),
  );

describe('a plain text file', () => {
  const full = [
    'This line goes on for so long that the next word had no room in it and',
    'stands in the line below, as in many a text that a program has broken',
    'into lines.',
  ];

  it('keeps the line breaks after short lines, and joins lines that fill the width', async () => {
    expect(await paragraphsOf(`12 Rua Augusta\nLisboa\n\n${full.join('\n')}\n\n- buoys\n- ropes`)).to.deep.equal([
      ['lines', '12 Rua Augusta\nLisboa'],
      ['prose', full.join(' ')],
      ['lines', '- buoys\n- ropes'],
    ]);
  });

  it('keeps a full line separate if the line begins a list item or is a whole paragraph', async () => {
    expect(await paragraphsOf(full.map((line) => `- ${line}`).join('\r\n'))).to.deep.equal([
      ['lines', full.map((line) => `- ${line}`).join('\n')],
    ]);
    const long = 'word '.repeat(60).trim();
    expect(await paragraphsOf(`Title\n${long}\n${long}`)).to.deep.equal([['lines', 'Title'], ['prose', long], ['prose', long]]); // prettier-ignore
  });

  it('joins full Chinese lines without blanks, and keeps the lines of a poem', async () => {
    const line = '漢字'.repeat(18);
    expect(await paragraphsOf(`${line}\n${line}\n漢字`)).to.deep.equal([['prose', `${line}${line}漢字`]]);
    expect(await paragraphsOf('春眠不覺曉\n處處聞啼鳥')).to.deep.equal([['lines', '春眠不覺曉\n處處聞啼鳥']]);
  });

  it('is not read as Markdown if its type is plain text', async () => {
    const text = '# a *b*\n[c](d) <b>e</b> &amp; $f$\n```';
    expect(shortly(await readFrom(text, { says: 'text/plain' }))).to.deep.equal([
      { headings: [], blocks: ['# a *b*', '[c](d) <b>e</b> &amp; $f$', '```'] },
    ]);
  });

  it('is read as text if its type is text, even if it begins like another kind of file', async () => {
    for (const text of ['A PDF begins with %PDF-1.7.', 'PK is short for Paderborn.', 'BEGIN:VCARD'])
      expect(shortly(await readFrom(text, { says: 'text/plain' }))[0]?.blocks).to.deep.equal([text]);
  });

  it('needs a time that grows linearly with the text', () => {
    for (const piece of ['\n', ' \n', '漢\n', '漢 ', ' ', 'a\n'])
      expectLinear(piece, manyTimes(piece, { begin: '漢', end: '漢' }), joinUnspaced, 16_000);
  }).timeout(30_000);
});

describe('the detected kind of a text file', () => {
  const page = '<!-- a --><!DOCTYPE html><p>b';
  for (const { text, says, kind } of [
    { text: '# a', says: null, kind: 'markdown' },
    { text: '# a', says: 'text/plain', kind: 'plain' },
    { text: '# a', says: 'text/html', kind: 'html' },
    { text: 'a <b>b</b>', says: 'text/html', kind: 'html' },
    { text: 'a', says: 'text/markdown', kind: 'markdown' },
    { text: '<svg>a</svg>', says: 'text/markdown', kind: 'markdown' },
    { text: '<svg>a</svg>', says: null, kind: 'other' },
    { text: page, says: null, kind: 'html' },
    { text: page, says: 'text/markdown', kind: 'html' },
    { text: page, says: 'text/plain', kind: 'plain' },
    { text: 'a;b', says: 'text/csv', kind: 'csv' },
    { text: 'a,b', says: 'application/vnd.ms-excel', kind: 'csv' },
    { text: 'a,b', says: null, kind: 'plain' },
  ])
    it(`is ${kind} for ${text} with the type ${says}`, () => expect(kindOfText(text, says)).to.equal(kind));
});

describe('the bytes of a text file', () => {
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));

  it('are read in the encoding that an HTML page names if they are not UTF-8', () => {
    const japanese = [0x8a, 0xbf, 0x8e, 0x9a]; // 漢字
    expect(decodeText(bytes('<meta charset="Shift_JIS"><p>', japanese))).to.contain('<p>漢字');
    expect(decodeText(bytes('<?xml version="1.0" encoding="gb18030"?><html>', [0xd6, 0xd0]))).to.contain('<html>中');
    const content = '<meta http-equiv=Content-Type content="text/html; charset=windows-1251">';
    expect(decodeText(bytes(content, [0xcc]))).to.contain('>М');
  });

  it('are recognized as UTF-16 without a byte-order mark', () => {
    const little = Buffer.from('Às 9 horas, 漢字.', 'utf16le');
    expect([decodeText(little), decodeText(Buffer.from(little).swap16())]).to.deep.equal([
      'Às 9 horas, 漢字.',
      'Às 9 horas, 漢字.',
    ]);
    expect(() => decodeText(Buffer.from('a\0b\0\0c'))).to.throw('unsupported_type');
  });

  it('are read as UTF-8 or Latin-1 if the file names no usable encoding', () => {
    expect(decodeText(Buffer.from('<meta charset=windows-1252>Nó'))).to.contain('Nó');
    expect(decodeText(bytes('<meta charset=utf-8>N', [0xf3]))).to.contain('Nó');
    expect(decodeText(bytes('<meta charset=no-such>N', [0xf3]))).to.contain('Nó');
  });
});

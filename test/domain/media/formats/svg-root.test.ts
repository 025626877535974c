import { expect } from 'chai';
import * as fc from 'fast-check';
import { identifyContent } from '../../../../domain/media/formats/file-content.ts';
import { beginsAsSvg } from '../../../../domain/media/formats/svg-root.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';

/** Has the result of the detection, but needs too much time for large inputs. */
const asPattern =
  /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*(?:<!DOCTYPE[^>[]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<svg[\s>]/;

const fragments = [
  '\xef\xbb\xbf', ' ', '\n', '\t', '<?xml', '<?xml version="1.0"?>', '>', '<!--', '-->', '<!-- a > b -->', '<!---->', '<!-->',
  '<!DOCTYPE', '<!DOCTYPE svg>', '<!DOCTYPE svg [', ']>', '<svg', '<svg ', '<svg>', '<svgx', 'x', '-', '\0',
]; // prettier-ignore

describe('the root of a drawing', () => {
  it('is found after a declaration, comments and a document type', () => {
    const drawings = [
      '<svg>',
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      '\xef\xbb\xbf <?xml version="1.0"?>\n<!-- one --> <!-- two -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN">\n<!-- > --><svg ',
      `<!--${'x'.repeat(20_000)}--><svg>`,
    ];
    expect(drawings.filter((drawing) => !beginsAsSvg(drawing))).to.deep.equal([]);
  });

  it('is not found after any other text', () => {
    const others = [
      '',
      '<svgs>',
      'x<svg>',
      '<!-- <svg>',
      '<!-- a --> b --><svg>',
      '<!DOCTYPE svg [<!ENTITY a "b">]><svg>',
      '<?xml ?><?xml ?><svg>',
      '<!DOCTYPE svg><!DOCTYPE svg><svg>',
      `${'<!---->'.repeat(45)}x`,
    ];
    expect(others.filter((other) => beginsAsSvg(other))).to.deep.equal([]);
  });

  it('is found exactly as by an equivalent regular expression', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 8 }), (parts) => {
        const head = parts.join('');
        expect(beginsAsSvg(head), JSON.stringify(head)).to.equal(asPattern.test(head));
      }),
      { numRuns: 5_000 },
    );
  });

  it('is found in a time that grows linearly with the bytes', () => {
    for (const piece of ['<!---->', '<!--', '-->', '<?xml', '<!DOCTYPE', ' '])
      for (const begin of ['', '<!--'])
        expectLinear(`${begin} ${piece}`, manyTimes(piece, { begin, end: 'x' }), beginsAsSvg, 16_000);
  }).timeout(30_000);
});

describe('the detection of a file’s type', () => {
  const types = [
    'image/svg+xml',
    'text/html',
    'text/plain',
    'application/pdf',
    'application/zip',
    'image/png',
    'text/csv',
  ];
  const marks = [
    '<!---->', '<!--', '<svg', '%PDF-', '%PDF', 'PK\u0003\u0004', 'PK\u0005\u0006', 'PK\u0001\u0002', 'GIF89a', '!\u00f9\u0004', ',',
    '\u0089PNG\r\n\u001a\n', '\u00ff\u00d8\u00ff', '\u00ff', 'RIFF', 'RIFF\u0000\u0000\u0000\u0000WEBP', '\u0000\u0000\u0000\u0008ftypavif', '\u0000', ' ', '\u00c3',
  ]; // prettier-ignore

  it('needs a time that grows linearly with the bytes', async () => {
    for (const announced of types)
      for (const mark of marks) {
        const inputOf = (size: number) => Buffer.from(manyTimes(mark, { end: 'x' })(size), 'latin1');
        const workOf = async (size: number) => {
          const bytes = inputOf(size);
          const reads: number[] = [];
          const read = async (offset: number, length: number) => {
            reads.push(length);
            return bytes.subarray(offset, offset + length);
          };
          await identifyContent(read, { sizeBytes: bytes.length, purpose: 'library', announced });
          return { bytes: reads.reduce((sum, length) => sum + length, 0), reads: reads.length };
        };
        const [small, large] = [await workOf(100_000), await workOf(1_600_000)];
        // Besides its two ends, an image is read twice, and an archive at most 64 times.
        expect(large.bytes, `${announced} ${mark}`).to.be.at.most(
          Math.max(2 * 1_600_000 + 3 * 65_536, 20 * small.bytes),
        );
        expect(large.reads, `${announced} ${mark}`).to.be.at.most(small.reads + 80);
      }
  }).timeout(60_000);

  it('is fast for 45 empty comments', async () => {
    const bytes = Buffer.from(`${'<!---->'.repeat(45)}x`);
    const finding = await identifyContent(async (offset, length) => bytes.subarray(offset, offset + length), {
      sizeBytes: bytes.length,
      purpose: 'library',
      announced: 'image/svg+xml',
    });
    expect(finding).to.deep.equal({ sizeBytes: 316, error: 'content_not_allowed' });
  });
});
